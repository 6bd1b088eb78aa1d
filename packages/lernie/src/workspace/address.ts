import { AGENT_REF_ROOT, agentRef, LernieError } from "@lernie/contract";
import type { Repo } from "../git/repo.ts";
import type { Oid } from "../git/types.ts";
import { isAgentId } from "./ids.ts";

const PREFIX_MIN = 4;

export interface AgentRef {
	readonly id: string;
	readonly tip: Oid;
}

export const listAgents = async (repo: Repo): Promise<readonly AgentRef[]> =>
	(await repo.list(AGENT_REF_ROOT)).map(({ ref, oid }) => ({ id: ref.slice(AGENT_REF_ROOT.length), tip: oid }));

/** The name an agent was given, or the empty text. */
export const readName = async (repo: Repo, tip: Oid): Promise<string> => {
	const entry = await repo.find(tip, "name");
	return entry === undefined ? "" : (await repo.blob(entry.oid)).toString("utf8").trimEnd();
};

export const takenNames = async (repo: Repo): Promise<ReadonlySet<string>> =>
	new Set(await Promise.all((await listAgents(repo)).map(({ tip }) => readName(repo, tip))));

const HOW = "`lernie ls` shows the agents of this workspace";

const one = (needle: string, found: readonly AgentRef[], what: string): string | undefined => {
	if (found.length <= 1) return found[0]?.id;
	const ids = found.map(({ id }) => id);
	throw new LernieError(
		"ADDRESS",
		`agent ${JSON.stringify(needle)}: ${what} several: ${ids.join(", ")}. Give more of the id`,
		{ ids },
	);
};

/**
 * Finds an agent by exact id, else exact name, else an id prefix of at least four characters (CONTRACTS §2).
 * Throws `ADDRESS` for text that cannot be an address or fits several, `AGENT_UNKNOWN` where it fits none; touches nothing.
 */
export const findAgent = async (repo: Repo, needle: string): Promise<string> => {
	if (needle === "" || needle === "." || needle === ".." || /[/\\\0]/.test(needle))
		throw new LernieError("ADDRESS", `agent ${JSON.stringify(needle)}: not an id or a name. ${HOW}`, { agent: needle });
	// Whoever gives a whole id does not wait for a list of all of them.
	if (isAgentId(needle) && (await repo.resolve(agentRef(needle))) !== undefined) return needle;
	const agents = await listAgents(repo);
	if (agents.some(({ id }) => id === needle)) return needle;
	const names = await Promise.all(agents.map(({ tip }) => readName(repo, tip)));
	const named = one(
		needle,
		agents.filter((_, index) => names[index] === needle),
		"the name is worn by",
	);
	if (named !== undefined) return named;
	const prefixed = needle.length < PREFIX_MIN ? [] : agents.filter(({ id }) => id.startsWith(needle));
	const found = one(needle, prefixed, "the prefix fits");
	if (found !== undefined) return found;
	throw new LernieError("AGENT_UNKNOWN", `agent ${JSON.stringify(needle)}: there is none of that id or name. ${HOW}`, {
		agent: needle,
	});
};
