import { agentRef, CONFIG_REF_ROOT, configRef, DISK_FORMAT, LernieError, markRef, TRAILER } from "@lernie/contract";
import { stringify } from "yaml";
import { describedTools } from "../config/describe.ts";
import { type LoadedConfig, loadConfig } from "../config/load.ts";
import type { ObjectBatch } from "../git/objects.ts";
import type { Oid, RefOp, TreeEntry } from "../git/types.ts";
import { createAdapter } from "../models/adapters.ts";
import { shippedTools } from "../tools/definitions.ts";
import { takenNames } from "../workspace/address.ts";
import { makeDirectory } from "../workspace/durable.ts";
import { whileFounding } from "../workspace/founding-lock.ts";
import { checkName, mintAgentId, mintName } from "../workspace/ids.ts";
import { deposit, PERSON } from "../workspace/inbox.ts";
import { agentDirectory, inboxDirectory } from "../workspace/layout.ts";
import { acquireLease, type Lease } from "../workspace/lease.ts";
import { commitMessage } from "../workspace/trailers.ts";
import { type AgentFacts, factsTrailers } from "./facts.ts";
import { modelOption } from "./governing.ts";
import { ownerText } from "./owner.ts";
import type { DriveContext } from "./session.ts";
import { resolveCwd } from "./working-directory.ts";

export interface Founding {
	readonly goal: string;
	readonly name?: string;
	/** `<row>/<model>`, in place of the configuration's. */
	readonly model?: string;
	/** `<key>=<value>`, in place of the configuration's. */
	readonly limits: readonly string[];
	/** Name of the configuration branch. */
	readonly config: string;
	/** Directory to work in, in place of the agent's own; absolute. */
	readonly cwd?: string;
}

export interface Founded {
	readonly agent: string;
	readonly name: string;
	readonly lease: Lease;
}

/** The roles a person starts are workers (CONTRACTS §8). */
export const ROOT_ROLE = "worker";

const governingCommit = async (context: DriveContext, name: string): Promise<Oid> => {
	// Looked for among those that exist: a name that can be none is one nobody has, and no question for git.
	const configs = await context.repo.list(CONFIG_REF_ROOT);
	const commit = configs.find(({ ref }) => ref === configRef(name))?.oid;
	if (commit !== undefined) return commit;
	const known = configs.map(({ ref }) => ref.slice(CONFIG_REF_ROOT.length));
	throw new LernieError(
		"CONFIG",
		`config ${JSON.stringify(name)}: there is none of that name. There is: ${known.join(", ") || "none"}`,
		{ name, known },
	);
};

/** Every granted tool as the configuration describes it, else as it is shipped. Throws `CONFIG` for one nobody describes. */
const describeGrant = async (
	context: DriveContext,
	batch: ObjectBatch,
	commit: Oid,
	tools: readonly string[],
): Promise<TreeEntry[]> => {
	const described = await describedTools(context.repo, commit);
	const schemas: TreeEntry[] = [];
	const skills: TreeEntry[] = [];
	for (const tool of tools) {
		const own = described.get(tool);
		const shipped = shippedTools.get(tool);
		if (own === undefined && shipped === undefined) {
			const pool = [...new Set([...described.keys(), ...shippedTools.keys()])].sort().join(", ");
			throw new LernieError(
				"CONFIG",
				`tool ${JSON.stringify(tool)}: the role has it but nothing describes it. Described are: ${pool}`,
				{ tool },
			);
		}
		const schema = own?.input_schema ?? shipped?.schema ?? "";
		const description = own === undefined ? shipped?.description : own.description;
		schemas.push({ mode: "100644", name: Buffer.from(`${tool}.json`), oid: batch.blob(schema) });
		if (description === undefined) continue;
		const skill = stringify({ name: tool, description });
		skills.push({ mode: "100644", name: Buffer.from(`${tool}.md`), oid: batch.blob(skill) });
	}
	const parts: TreeEntry[] = [];
	if (skills.length > 0) parts.push({ mode: "40000", name: Buffer.from("skills"), oid: batch.tree(skills) });
	if (schemas.length > 0) parts.push({ mode: "40000", name: Buffer.from("tools"), oid: batch.tree(schemas) });
	return parts;
};

interface Plan {
	readonly commit: Oid;
	readonly config: LoadedConfig;
	readonly cwd: string | undefined;
}

interface Named extends Plan {
	readonly name: string;
}

/** A model that cannot even be set up is a refusal, not a failed call later. Throws `CONFIG`. */
export const checkAdapter = async (
	{ effects, layout }: Pick<DriveContext, "effects" | "layout">,
	{ role, rows }: Pick<LoadedConfig, "role" | "rows">,
): Promise<void> => {
	try {
		await createAdapter(role.provider, rows, {
			env: effects.env,
			workspace: layout.root,
			track: () => () => undefined,
		}).check();
	} catch (thrown) {
		if (!(thrown instanceof LernieError) || !["MODEL_SCRIPT", "MODEL_COMMAND"].includes(thrown.code)) throw thrown;
		throw new LernieError("CONFIG", thrown.message, thrown.data, thrown);
	}
};

/** What can be refused whoever else founds an agent just now, before anything exists (law 6). */
const plan = async (context: DriveContext, founding: Founding): Promise<Plan> => {
	const { repo, roots, effects, layout } = context;
	if (founding.name !== undefined) checkName(founding.name, new Set());
	const cwd = founding.cwd === undefined ? undefined : resolveCwd(founding.cwd);
	const commit = await governingCommit(context, founding.config);
	const config = await loadConfig(repo, commit, {
		role: ROOT_ROLE,
		roots,
		env: effects.env,
		workspace: layout.root,
		...modelOption(founding.model),
		...(cwd === undefined ? {} : { cwd }),
	});
	await checkAdapter(context, config);
	return { commit, config, cwd };
};

/** The name the agent will wear. Until its ref exists nobody else may be looking for one: see `whileFounding`. */
const chooseName = async ({ repo, effects }: DriveContext, wanted: string | undefined): Promise<string> => {
	const taken = await takenNames(repo);
	if (wanted === undefined) return mintName(taken, effects.random);
	checkName(wanted, taken);
	return wanted;
};

/** The first commit of an agent, on top of the configuration that governs it: what it is for and what it has. */
const foundingCommit = (
	batch: ObjectBatch,
	agent: string,
	{ goal, model, limits }: Founding,
	{ commit, config, name, cwd }: Named,
	descriptions: readonly TreeEntry[],
	at: Date,
): Oid => {
	const facts: AgentFacts = { role: config.role.name, config: commit, model, limits, cwd };
	const file = (path: string, body: string): TreeEntry => ({
		mode: "100644",
		name: Buffer.from(path),
		oid: batch.blob(body),
	});
	const entries = [file("goal.md", goal), file("soul.md", config.role.soul), file("name", `${name}\n`)];
	if (descriptions.length > 0)
		entries.push({ mode: "40000", name: Buffer.from("descriptions"), oid: batch.tree(descriptions) });
	const trailers = [[TRAILER.format, String(DISK_FORMAT)] as const, ...factsTrailers(facts)];
	const message = commitMessage(`step 001: dispatch [${agent}]`, trailers);
	return batch.commit({ tree: batch.tree(entries), parents: [commit], message, at });
};

/** Longer than anybody looks at a lease: a look at an inbox that was just made must not end the founding. */
const LEASE_SECONDS = 2;

const create = async (
	context: DriveContext,
	founding: Founding,
	planned: Named,
	batch: ObjectBatch,
	descriptions: readonly TreeEntry[],
): Promise<Founded> => {
	const { repo, effects, layout } = context;
	const { name, cwd } = planned;
	const agent = mintAgentId(effects.now(), effects.random);
	const inbox = inboxDirectory(layout, agent);
	makeDirectory(inbox);
	const lease = await acquireLease(inbox, LEASE_SECONDS);
	if (lease === undefined)
		throw new LernieError("LEASE", `agent ${agent}: somebody else holds the lease of a new agent`, { agent });
	try {
		deposit(layout, { agent, sender: PERSON, body: founding.goal }, effects);
		const oid = foundingCommit(batch, agent, founding, planned, descriptions, effects.now());
		const owner = batch.blob(ownerText(effects));
		const moved = cwd === undefined ? undefined : batch.blob(cwd);
		await batch.flush();
		effects.crash("found.objects");
		const ops: RefOp[] = [
			{ kind: "create", ref: agentRef(agent), oid },
			{ kind: "create", ref: markRef("owner", agent), oid: owner },
			...(moved === undefined ? [] : [{ kind: "create" as const, ref: markRef("cwd", agent), oid: moved }]),
		];
		const result = await repo.transact(ops);
		if (!result.ok)
			throw new LernieError("GIT", `agent ${agent}: git refused to create it: ${result.detail}`, { agent });
		effects.crash("found.refs");
		makeDirectory(agentDirectory(layout, agent));
		effects.crash("found.directory");
		return { agent, name, lease };
	} catch (thrown) {
		await lease.release();
		throw thrown;
	}
};

/**
 * Founds an agent: its inbox and lease, its first message, then one ref transaction at a finished commit, then its
 * directory (D4, CONTRACTS §7). A refusal leaves nothing behind. Of two that want one name at once, one gets it and the
 * other is refused. The caller drives with the lease it gets.
 */
export const found = async (context: DriveContext, founding: Founding): Promise<Founded> => {
	const batch = context.repo.batch();
	const planned = await plan(context, founding);
	const descriptions = await describeGrant(context, batch, planned.commit, planned.config.role.tools);
	return whileFounding(context.layout, async () => {
		const name = await chooseName(context, founding.name);
		return create(context, founding, { ...planned, name }, batch, descriptions);
	});
};
