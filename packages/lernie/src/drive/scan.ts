import { type AgentState, agentRef, faultOf, type LernieError } from "@lernie/contract";
import { type AgentRef, listAgents } from "../workspace/address.ts";
import { listDeposits } from "../workspace/inbox.ts";
import { listInboxes } from "../workspace/inboxes.ts";
import { inboxDirectory } from "../workspace/layout.ts";
import { isLeaseHeld } from "../workspace/lease.ts";
import { readHeld } from "../workspace/marks.ts";
import { type LastCall, readLastCall } from "./last-call.ts";
import { wake } from "./launch.ts";
import { isLive } from "./park.ts";
import type { DriveContext } from "./session.ts";
import { readStatus } from "./status.ts";
import { openCalls, readTranscriptTail } from "./transcript-state.ts";

/** What a sweep of the workspace found and did. All lists hold ids, oldest first. */
export interface Scan {
	/** Agents that stopped in the middle of something without anybody being told. */
	readonly silentDeaths: readonly string[];
	/** Agents whose mail lay there and nobody drove: a drive was started. */
	readonly launched: readonly string[];
	/** Inboxes that no agent owns. */
	readonly orphanInboxes: readonly string[];
	/** Agents that could not be looked at or woken; the others were. */
	readonly faults: readonly { readonly agent: string; readonly fault: LernieError }[];
}

type Reader = Pick<DriveContext, "layout" | "repo" | "effects">;

export interface Signs {
	readonly tip: string;
	readonly state: AgentState;
	readonly held: boolean;
	/** Whether a call of the last assistant entry has no result. */
	readonly open: boolean;
	readonly call: LastCall;
}

/** Somebody knows of such an agent: a driver, the operator who is asked, or the one who ended or bounded it. */
const ACCOUNTED: readonly AgentState[] = ["running", "held", "limit", "stopped"];

/** Whether the answer to the newest model call never came into the transcript. One of which nothing is wrong is followed by its entry. */
const answerLost = ({ tip, call }: Signs): boolean =>
	call.end === "failed" || call.end === "cut" || (call.end === "whole" && call.from === tip);

/**
 * Whether an agent that nobody drives died (`spec/core.md` §25): its newest model call has no answer, or a tool call no
 * result. An agent that was just founded has made neither and is none, however long ago that was (D13).
 */
export const isDead = (signs: Signs): boolean =>
	!signs.held && !ACCOUNTED.includes(signs.state) && (signs.open || answerLost(signs));

const readSigns = async (context: Reader, agent: AgentRef): Promise<Signs> => {
	const { state, held } = await readStatus(context, agent);
	// Where the last drive failed, the state does not say whether it left calls open.
	const open =
		state === "crashed" ||
		(state === "failed" && openCalls((await readTranscriptTail(context.repo, agent.tip)).window).length > 0);
	return { tip: agent.tip, state, held: held !== null, open, call: readLastCall(context.layout, agent.id) };
};

/**
 * Looked at twice, with the lease free in between and nothing changed: what is under way looks like what was cut off, and
 * a drive may begin or end while its traces are read.
 */
const died = async (context: Reader, agent: AgentRef): Promise<boolean> => {
	const first = await readSigns(context, agent);
	if (!isDead(first) || (await isLeaseHeld(inboxDirectory(context.layout, agent.id)))) return false;
	const tip = await context.repo.resolve(agentRef(agent.id));
	const second = tip === undefined ? undefined : await readSigns(context, { id: agent.id, tip });
	return second !== undefined && isDead(second) && second.tip === first.tip && second.call.step === first.call.step;
};

const isHeld = async ({ repo }: Reader, { id, tip }: AgentRef): Promise<boolean> => {
	const mark = (await readHeld(repo, id))?.mark;
	return mark !== undefined && isLive(mark, await readTranscriptTail(repo, tip));
};

/**
 * Starts a drive for mail that nobody will look at otherwise. Not for a held agent: its mail waits for the answer
 * (`spec/tools.md` §13.6 leaves this open), so the drive would only ask the control again, and so would every later scan.
 */
const flush = async (context: Reader, agent: AgentRef): Promise<boolean> => {
	if (listDeposits(inboxDirectory(context.layout, agent.id)).length === 0) return false;
	if (await isHeld(context, agent)) return false;
	return wake(context.layout, agent.id, context.effects);
};

/**
 * Sweeps a workspace (`spec/core.md` §25): names the agents that died, starts drives for mail that was left lying, counts
 * inboxes without an agent. Moves no file and commits nothing; nobody but the operator asks for it.
 */
export const scan = async (context: Reader): Promise<Scan> => {
	const faults: { agent: string; fault: LernieError }[] = [];
	const choose = async (
		agents: readonly AgentRef[],
		is: (context: Reader, agent: AgentRef) => Promise<boolean>,
	): Promise<readonly string[]> => {
		const found: string[] = [];
		for (const agent of agents) {
			try {
				if (await is(context, agent)) found.push(agent.id);
			} catch (thrown) {
				faults.push({ agent: agent.id, fault: faultOf(thrown) });
			}
		}
		return found;
	};
	const silentDeaths = await choose(await listAgents(context.repo), died);
	// Mail last: whoever was turned away because this process looked at the lease has left his message by now.
	const { agents, orphans } = await listInboxes(context.layout, context.repo);
	const launched = await choose(agents, flush);
	return { silentDeaths, launched, orphanInboxes: orphans, faults };
};
