import { configRef, LernieError } from "@lernie/contract";
import type { Repo } from "../git/repo.ts";
import type { Oid, TreeEntry } from "../git/types.ts";
import type { Effects } from "../workspace/effects.ts";
import type { Roots } from "../workspace/roots.ts";
import { checkControl } from "./control-placement.ts";
import { describeAll } from "./describe.ts";
import { type ConfigFiles, plannedFiles } from "./files.ts";
import { checkManifest, checkVersion } from "./load.ts";
import { snapshotPools } from "./pools.ts";
import { readProvidersFile, readRole } from "./roles.ts";
import { completeWorkflow, readWorkflowFile } from "./workflow.ts";

export interface CheckOptions {
	readonly roots: Roots;
	readonly workspace: string;
	/** Names of tools that need no description here, because this program brings them. */
	readonly builtinTools: readonly string[];
}

export interface AuthorOptions extends CheckOptions {
	readonly effects: Pick<Effects, "now">;
}

type Batch = ReturnType<Repo["batch"]>;
type Files = ReadonlyMap<string, Buffer>;

const NAME = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/;

const checkName = (name: string): void => {
	if (NAME.test(name) && !name.includes("..") && !/(\.lock|\.)$/.test(name)) return;
	throw new LernieError(
		"ARGUMENT",
		`config name ${JSON.stringify(name)}: 1 to 64 letters, digits, \`.\`, \`_\` or \`-\``,
		{ name },
	);
};

const notCreated = (name: string, why: string): LernieError =>
	new LernieError("CONFIG", `config/${name} was not created: ${why}`, { name });

/**
 * Loads everything that a drive would load, for every role, and throws as it would (DESIGN D18); beyond that, a tool that
 * nothing describes. Which model rows this machine has is not looked at.
 */
export const checkFiles = async (
	files: ConfigFiles,
	{ roots, workspace, builtinTools }: CheckOptions,
): Promise<void> => {
	await checkVersion(files);
	const providers = await readProvidersFile(files);
	const roles = await Promise.all(Object.keys(providers.roles).map((name) => readRole(files, providers, name)));
	const { control } = completeWorkflow(await readWorkflowFile(files), roots);
	await checkControl(control, { roots, workspace });
	await checkManifest(files);
	const described = await describeAll(files);
	for (const { name, tools } of roles) {
		const unknown = tools.find((tool) => !described.has(tool) && !builtinTools.includes(tool));
		if (unknown === undefined) continue;
		const known = [...new Set([...builtinTools, ...described.keys()])].sort();
		const what = `roles.${name}.tools: there is no tool ${JSON.stringify(unknown)}`;
		throw new LernieError("CONFIG", `${files.label("providers.yaml")}: ${what}; described are ${known.join(", ")}`, {
			file: "providers.yaml",
			key: `roles.${name}.tools`,
			tool: unknown,
			known,
		});
	}
};

/** Completes the files with a snapshot of the operator's pools and checks them (`checkFiles`). Writes nothing. */
export const checkConfig = async (files: Files, options: CheckOptions): Promise<Files> => {
	const complete = new Map([...files, ...(await snapshotPools(options.roots))]);
	await checkFiles(plannedFiles(complete), options);
	return complete;
};

const writeTree = (batch: Batch, files: Files): Oid => {
	const entries: TreeEntry[] = [];
	const below = new Map<string, Map<string, Buffer>>();
	for (const [path, bytes] of files) {
		const slash = path.indexOf("/");
		if (slash === -1) entries.push({ mode: "100644", name: Buffer.from(path), oid: batch.blob(bytes) });
		else {
			const directory = below.get(path.slice(0, slash)) ?? new Map<string, Buffer>();
			below.set(path.slice(0, slash), directory.set(path.slice(slash + 1), bytes));
		}
	}
	for (const [name, inner] of below)
		entries.push({ mode: "40000", name: Buffer.from(name), oid: writeTree(batch, inner) });
	return batch.tree(entries);
};

/**
 * Commits a new configuration without a parent on `config/<name>` and returns its commit (`spec/core.md` §6.1). The
 * operator's pools are snapshotted into it. Everything is checked first: on an error nothing is created (DESIGN D18).
 * Throws `CONFIG` or `ARGUMENT`.
 */
export const authorConfig = async (repo: Repo, name: string, files: Files, options: AuthorOptions): Promise<Oid> => {
	checkName(name);
	const ref = configRef(name);
	if ((await repo.resolve(ref)) !== undefined) throw notCreated(name, "it exists already; name another");
	const complete = await checkConfig(files, options);
	const batch = repo.batch();
	const oid = batch.commit({
		tree: writeTree(batch, complete),
		parents: [],
		message: `config: init [config/${name}]\n`,
		at: options.effects.now(),
	});
	await batch.flush();
	const moved = await repo.transact([{ kind: "create", ref, oid }]);
	if (!moved.ok) throw notCreated(name, moved.detail);
	return oid;
};
