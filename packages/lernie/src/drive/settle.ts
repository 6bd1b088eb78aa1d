import type { ToolCall } from "@lernie/contract";
import type { StandingMark } from "../workspace/marks.ts";
import type { Tip } from "./facts.ts";
import { emittingStep, endLeftovers, mayHaveStarted } from "./recover.ts";
import { commitResult } from "./result.ts";
import type { Session } from "./session.ts";
import { afterFaultText, neverStartedText, stoppedBeforeText, stoppedText, unknownText } from "./texts.ts";
import { openCalls, type TranscriptState } from "./transcript-state.ts";

/** What each open call is told, which was not run to its end. */
interface Answer {
	readonly verdict: "stopped" | "not-started";
	readonly text: (call: ToolCall) => string;
}

const answerAll = async (
	session: Session,
	tip: Tip,
	last: number,
	calls: readonly ToolCall[],
	{ verdict, text }: Answer,
): Promise<void> => {
	let at = tip;
	for (const [index, call] of calls.entries()) {
		session.emit({ type: "verdict", id: call.id, verdict, reason: null, confined: false });
		at = await commitResult(session, at, last + index + 1, { call, text: text(call), isError: true, verdict });
	}
};

/**
 * Answers the calls that a stop left open, in order, so that the next message finds every call paired (`spec/tools.md`
 * §14.1). `started` is the one that was under way, if one was.
 */
export const settleStopped = (
	session: Session,
	tip: Tip,
	last: number,
	calls: readonly ToolCall[],
	started: string | undefined,
): Promise<void> =>
	answerAll(session, tip, last, calls, {
		verdict: "stopped",
		text: ({ id, name }) => (id === started ? stoppedText(name) : stoppedBeforeText(name)),
	});

/** Answers the calls behind one about which the control could not answer, none of which has started. */
export const settleAfterFault = (session: Session, tip: Tip, last: number, calls: readonly ToolCall[]): Promise<void> =>
	answerAll(session, tip, last, calls, { verdict: "not-started", text: ({ name }) => afterFaultText(name) });

/**
 * Answers the calls a dead driver left open, so that the agent can go on: never by running them (law 3).
 * `stale` is a mark that was there but says nothing usable; then nothing is certain about any of them.
 */
export const settle = async (
	session: Session,
	tip: Tip,
	state: TranscriptState,
	stale: StandingMark | undefined,
): Promise<Tip> => {
	const { window } = state;
	const open = openCalls(window);
	if (window === undefined || open.length === 0) return tip;
	await endLeftovers(session, window);
	const step = await emittingStep(session, tip, window);
	let at = tip;
	let number = state.last;
	for (const call of open) {
		const unknown = stale !== undefined || mayHaveStarted(session, step, window, call);
		number += 1;
		at = await commitResult(session, at, number, {
			call,
			text: unknown ? unknownText(call.name) : neverStartedText(call.name),
			isError: true,
			verdict: unknown ? "unknown" : "not-started",
		});
	}
	const calls = open.length === 1 ? "1 call" : `${open.length} calls`;
	session.emit({
		type: "notice",
		code: "RECOVERED",
		message: `an earlier drive died; ${calls} without an outcome answered for the model, none run again`,
	});
	return at;
};
