import { agentRef, LernieError, percentDecode, percentEncode, TRAILER } from "@lernie/contract";
import type { Repo } from "../git/repo.ts";
import type { Commit } from "../git/types.ts";
import { readTrailers, type Trailers, trailerValue, trailerValues } from "../workspace/trailers.ts";

/** What the tip of an agent's branch says about it (D14). What was given at founding is carried on every commit. */
export interface AgentFacts {
	readonly role: string;
	readonly config: string;
	readonly model: string | undefined;
	readonly limits: readonly string[];
	/** The directory outside the workspace it was founded to work in; `cd` moves the agent, not this. */
	readonly cwd: string | undefined;
}

export interface Tip {
	readonly commit: Commit;
	readonly facts: AgentFacts;
}

export const factsTrailers = (facts: AgentFacts): Trailers => [
	[TRAILER.role, facts.role],
	[TRAILER.config, facts.config],
	...(facts.model === undefined ? [] : [[TRAILER.model, facts.model] as const]),
	...facts.limits.map((limit) => [TRAILER.limit, limit] as const),
	...(facts.cwd === undefined ? [] : [[TRAILER.cwd, percentEncode(facts.cwd)] as const]),
];

/** Reads an agent's tip. Throws `AGENT_UNKNOWN` without a branch, `TRANSCRIPT` where its tip is no commit of the harness. */
export const readTip = async (repo: Repo, agent: string): Promise<Tip> => {
	const oid = await repo.resolve(agentRef(agent));
	if (oid === undefined) throw new LernieError("AGENT_UNKNOWN", `there is no agent ${agent}`, { agent });
	return tipOf(await repo.commit(oid), agent);
};

export const tipOf = (commit: Commit, agent: string): Tip => {
	const trailers = readTrailers(commit.message);
	const [role, config] = [trailerValue(trailers, TRAILER.role), trailerValue(trailers, TRAILER.config)];
	if (role === undefined || config === undefined) {
		const why = `the tip of its branch (${commit.oid.slice(0, 12)}) was not written by lernie`;
		throw new LernieError("TRANSCRIPT", `agent ${agent}: ${why}. Put the branch back on its last commit of lernie`, {
			agent,
		});
	}
	const cwd = trailerValue(trailers, TRAILER.cwd);
	const facts = {
		role,
		config,
		model: trailerValue(trailers, TRAILER.model),
		limits: trailerValues(trailers, TRAILER.limit),
		cwd: cwd === undefined ? undefined : percentDecode(cwd),
	};
	return { commit, facts };
};

/** The limit an agent was founded with, if it was given one; the newest wins. */
export const limitOf = (facts: AgentFacts, key: string): string | undefined =>
	facts.limits.findLast((limit) => limit.startsWith(`${key}=`))?.slice(key.length + 1);
