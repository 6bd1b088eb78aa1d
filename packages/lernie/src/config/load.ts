import { LernieError } from "@lernie/contract";
import { manifestSchema } from "@lernie/contract/config";
import type { Oid } from "../git/types.ts";
import type { Roots } from "../workspace/roots.ts";
import { checkControl } from "./control-placement.ts";
import { type ConfigFiles, committedFiles, type RecordReader } from "./files.ts";
import { findRow, type ModelRows, readModelRows } from "./models-file.ts";
import { checkModelName, type RoleConfig, readProvidersFile, readRole } from "./roles.ts";
import { readYaml } from "./strict-yaml.ts";
import { completeWorkflow, readWorkflowFile, type Workflow } from "./workflow.ts";

/** Everything a drive reads of its configuration. */
export interface LoadedConfig {
	readonly commit: Oid;
	readonly role: RoleConfig;
	/** Names of every role of the commit. */
	readonly roles: readonly string[];
	readonly workflow: Workflow;
	readonly rows: ModelRows;
}

export interface LoadOptions {
	readonly role: string;
	/** Given when the agent was founded; it wins over the role's own (CONTRACTS §7). */
	readonly model?: { readonly provider: string; readonly model: string };
	readonly roots: Roots;
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly workspace: string;
	/** A directory outside the workspace that the agent was given to work in. */
	readonly cwd?: string;
}

/** The highest `version` of a configuration that this program reads. */
export const CONFIG_VERSION = 1;

/** Throws `CONFIG` where the configuration was written for a newer program. A missing file is version 1. */
export const checkVersion = async (files: ConfigFiles): Promise<void> => {
	const text = (await files.read("version"))?.toString("utf8").trim() ?? String(CONFIG_VERSION);
	const file = files.label("version");
	if (!/^\d+$/.test(text))
		throw new LernieError("CONFIG", `${file}: must hold one whole number, not ${JSON.stringify(text.slice(0, 40))}`, {
			file,
		});
	if (Number(text) > CONFIG_VERSION)
		throw new LernieError(
			"CONFIG",
			`${file}: version ${text} is newer than this lernie, which reads ${CONFIG_VERSION}. upgrade lernie`,
			{
				file,
				version: Number(text),
			},
		);
};

/** Throws `CONFIG` where a `manifest.yaml` asks for what this version does not compose. */
export const checkManifest = async (files: ConfigFiles): Promise<void> => {
	const bytes = await files.read("manifest.yaml");
	if (bytes !== undefined) readYaml(manifestSchema, files.label("manifest.yaml"), bytes);
};

/**
 * The workflow of a configuration alone, for those who look at an agent and do not drive it: it needs no usable model row.
 * Throws `CONFIG`.
 */
export const loadWorkflow = async (repo: RecordReader, commit: Oid, roots: Roots): Promise<Workflow> => {
	const files = committedFiles(repo, commit);
	await checkVersion(files);
	return completeWorkflow(await readWorkflowFile(files), roots);
};

/**
 * Loads the governing configuration of an agent for one of its roles; the commit is given by a trailer and not searched
 * for (DESIGN D14). Order of what is looked at, the first failure wins: version, models.yaml, providers.yaml, role, row,
 * workflow.yaml, where the control lies, manifest.yaml, instructions (`spec/cli.md` §5.2).
 * Throws `CONFIG`, `MODEL_NAME` or `PROVIDER_UNKNOWN`; writes nothing.
 */
export const loadConfig = async (repo: RecordReader, commit: Oid, options: LoadOptions): Promise<LoadedConfig> => {
	const files = committedFiles(repo, commit);
	await checkVersion(files);
	const rows = await readModelRows(options.roots);
	const providers = await readProvidersFile(files);
	const role = { ...(await readRole(files, providers, options.role)), ...options.model };
	checkModelName(role.model);
	findRow(rows, role.provider, options.env);
	const workflow = completeWorkflow(await readWorkflowFile(files), options.roots);
	await checkControl(workflow.control, options);
	await checkManifest(files);
	return { commit, role, roles: Object.keys(providers.roles), workflow, rows };
};
