import { lstatSync, renameSync, rmSync } from "node:fs";
import { type HoldMark, LernieError } from "@lernie/contract";
import { materialise } from "../git/snapshot.ts";
import { type Deposit, listDeposits } from "../workspace/inbox.ts";
import { agentDirectory, inboxDirectory } from "../workspace/layout.ts";
import { readHeld, type StandingMark } from "../workspace/marks.ts";
import { latestStep } from "../workspace/steps.ts";
import { isHarnessPath } from "./commit.ts";
import { deliver, removeDelivered } from "./deliver.ts";
import { readTip, type Tip } from "./facts.ts";
import { governingOf } from "./governing.ts";
import { exhausted, limitsInForce, markLimit } from "./limits.ts";
import { isLive, sweepMark } from "./park.ts";
import { emittingStep } from "./recover.ts";
import type { Session } from "./session.ts";
import { settle } from "./settle.ts";
import { runStep } from "./step.ts";
import { openCalls, readTranscript, type TranscriptState } from "./transcript-state.ts";
import { runWindow, type WindowOutcome } from "./window.ts";

export type HopOutcome =
	/** Something was done and more may be due. */
	| { readonly kind: "continue"; readonly answered: boolean }
	| { readonly kind: "rest" }
	| { readonly kind: "stopped" }
	/** The control failed in the middle of a batch, whose answer stands; nothing is held. `seen` as below. */
	| { readonly kind: "faulted"; readonly reason: string; readonly seen: readonly Deposit[] }
	| { readonly kind: "limit"; readonly why: string }
	/** `seen` is the mail that lay there before the control was asked; it must not wake anybody. */
	| {
			readonly kind: "held";
			readonly by: "hold" | "fault";
			readonly reason: string;
			readonly seen: readonly Deposit[];
	  };

const stateAt = (session: Session, tip: Tip): Promise<TranscriptState> =>
	readTranscript(session.repo, tip.commit.oid, session.transcripts);

const afterWindow = (outcome: WindowOutcome, seen: readonly Deposit[]): HopOutcome => {
	switch (outcome.kind) {
		case "held":
		case "faulted":
			return { ...outcome, seen };
		case "stopped":
			return outcome;
		case "completed":
			return { kind: "continue", answered: false };
		default:
			return outcome satisfies never;
	}
};

/** What a drive that was told to stop leaves: a held agent is still held, one with nothing to do is done. */
const whenStopped = (session: Session, state: TranscriptState, held: HoldMark | undefined): HopOutcome => {
	const seen = listDeposits(inboxDirectory(session.layout, session.agent));
	if (held !== undefined) return { kind: "held", by: held.kind, reason: held.reason, seen };
	const rests = state.tail === "assistant" && openCalls(state.window).length === 0 && seen.length === 0;
	return { kind: rests ? "rest" : "stopped" };
};

/** Asks the control again about a held call and goes on from there (`spec/tools.md` §13.3). */
const resume = async (session: Session, tip: Tip, state: TranscriptState, mark: StandingMark): Promise<HopOutcome> => {
	const seen = listDeposits(inboxDirectory(session.layout, session.agent));
	const { window } = state;
	if (
		window === undefined ||
		lstatSync(agentDirectory(session.layout, session.agent), { throwIfNoEntry: false }) === undefined
	)
		return { kind: "held", by: mark.mark?.kind ?? "hold", reason: mark.mark?.reason ?? "", seen };
	const { config, control } = await governingOf(session, tip);
	const step = (await emittingStep(session, tip, window)) ?? Math.max(1, latestStep(session.layout, session.agent));
	const outcome = await runWindow(session, { tip, last: state.last, window, step, config, control, mark });
	return afterWindow(outcome, seen);
};

/** An agent's directory can be thrown away while it rests; the record has every file of it. */
const ensureDirectory = async (session: Session, tip: Tip): Promise<void> => {
	const directory = agentDirectory(session.layout, session.agent);
	const there = lstatSync(directory, { throwIfNoEntry: false });
	if (there?.isDirectory()) return;
	// A tool put it there; what it is may be of use to somebody.
	if (there !== undefined) renameSync(directory, `${directory}.replaced-${session.effects.random(4).toString("hex")}`);
	const work = (await session.repo.tree(tip.commit.tree)).filter(({ name }) => !isHarnessPath(name));
	// Beside its place first: half a directory would be taken for what the agent left of it.
	const fresh = `${directory}.restoring`;
	rmSync(fresh, { recursive: true, force: true });
	await materialise(session.repo, work, fresh);
	renameSync(fresh, directory);
};

const refuseUnpaired = (session: Session, state: TranscriptState): void => {
	if (state.buried === undefined) return;
	const { entry, ids } = state.buried;
	const why = `entry ${entry} called ${ids.join(", ")} and has no result for it, with later messages behind it`;
	throw new LernieError(
		"UNPAIRED_TOOL_USE",
		`agent ${session.agent}: ${why}. Start a new agent from an earlier commit`,
		{
			agent: session.agent,
			entry,
			ids,
		},
	);
};

/**
 * One hop: everything it needs it reads from disk, everything it does is on disk when it returns (D7, `spec/core.md` §23).
 * A held call is looked at first, then what a dead driver left is answered, then mail is delivered, then, where one is
 * due, one model call is made and its tool calls are judged and run.
 */
export const hop = async (session: Session): Promise<HopOutcome> => {
	let tip = await readTip(session.repo, session.agent);
	removeDelivered(session, tip);
	let state = await stateAt(session, tip);
	const standing = await readHeld(session.repo, session.agent);
	if (session.stop.aborted) {
		const mark = standing?.mark;
		return whenStopped(session, state, isLive(mark, state) ? mark : undefined);
	}
	if (standing !== undefined && isLive(standing.mark, state)) return resume(session, tip, state, standing);
	await ensureDirectory(session, tip);
	if (openCalls(state.window).length > 0) {
		tip = await settle(session, tip, state, standing);
		state = await stateAt(session, tip);
	}
	if (standing !== undefined) await sweepMark(session, standing);
	const { tip: delivered } = await deliver(session, tip, state.last);
	if (delivered !== tip) {
		tip = delivered;
		state = await stateAt(session, tip);
	}
	refuseUnpaired(session, state);
	if (state.tail === undefined || state.tail === "assistant") return { kind: "rest" };

	const governing = await governingOf(session, tip);
	const limits = limitsInForce(tip.facts, governing.config);
	const milliseconds = session.effects.now().getTime() - session.startedAt;
	const why = exhausted(limits, { modelCalls: state.modelCalls, milliseconds });
	if (why !== undefined) {
		await markLimit(session, tip);
		return { kind: "limit", why };
	}
	const made = await runStep(session, tip, state, governing);
	if (made === "stopped") return { kind: "stopped" };
	if (openCalls(made.window).length === 0) return { kind: "continue", answered: true };
	const seen = listDeposits(inboxDirectory(session.layout, session.agent));
	const { window, step, entry: last } = made;
	const input = { tip: made.tip, last, window, step, ...governing, mark: undefined };
	return afterWindow(await runWindow(session, input), seen);
};
