import { LernieError, type ToolCall, usableInput } from "@lernie/contract";
import { MULTI_TOOL } from "../tools/multi-tool.ts";
import type { StandingMark } from "../workspace/marks.ts";
import { runBatch } from "./batch.ts";
import type { Tip } from "./facts.ts";
import { announce, type Court, decline, judge, type Ruling } from "./judge.ts";
import { transact } from "./owner.ts";
import { removeMark, writeMark } from "./park.ts";
import { type CallResult, commitResult } from "./result.ts";
import { type Ran, runCall } from "./run-call.ts";
import type { Session } from "./session.ts";
import { settleAfterFault, settleStopped } from "./settle.ts";
import { unusableText } from "./texts.ts";
import { type OpenWindow, openCalls } from "./transcript-state.ts";

export interface WindowInput extends Court {
	readonly tip: Tip;
	/** Number of the newest entry; the next result gets the one after it. */
	readonly last: number;
	readonly window: OpenWindow;
	/** The mark that parked this window, when it is entered again. */
	readonly mark: StandingMark | undefined;
}

export type WindowOutcome =
	| { readonly kind: "completed"; readonly tip: Tip; readonly last: number }
	| { readonly kind: "held"; readonly by: "hold" | "fault"; readonly reason: string }
	/** The control failed inside a call that had begun: every call is answered, and none is parked (CONTRACTS §6). */
	| { readonly kind: "faulted"; readonly reason: string }
	/** Every call that was still open is answered as stopped. */
	| { readonly kind: "stopped" };

/** How a call that was ruled to run went; a batch can still be parked, or end the drive with its answer. */
type Run = Ran | { readonly kind: "park"; readonly reason: string } | Faulted;
type Faulted = { readonly kind: "faulted"; readonly result: Omit<CallResult, "ops">; readonly reason: string };

/** Why a call's arguments cannot be used: as its entry says, or as its own text shows where the entry is silent. */
const unusableReason = ({ unusable }: OpenWindow, { id, input }: ToolCall): string | undefined => {
	if (Object.hasOwn(unusable, id)) return unusable[id];
	const usable = usableInput(input);
	return usable.ok ? undefined : usable.why;
};

const rule = async (session: Session, input: WindowInput, call: ToolCall): Promise<Ruling> => {
	const why = unusableReason(input.window, call);
	if (why === undefined) return judge(session, input, call);
	return decline(call, { verdict: "unusable", text: unusableText(call.name, why), reason: why });
};

const run = async (
	session: Session,
	input: WindowInput,
	call: ToolCall,
	ruling: Ruling & { kind: "run" },
): Promise<Run> => {
	if (call.name !== MULTI_TOOL) return runCall(session, input, call, ruling);
	const siblings = input.window.calls.map(({ id }) => id);
	const outcome = await runBatch(session, input, call, siblings);
	if (outcome.kind === "park" || outcome.kind === "stopped") return outcome;
	const { verdict, judged } = ruling;
	const { text, ran } = outcome;
	const isError = outcome.kind === "faulted" || outcome.isError;
	const result = { call, text, isError, verdict, judged, ran };
	return outcome.kind === "faulted" ? { ...outcome, result } : { kind: "result", result };
};

/**
 * The tool window (`spec/tools.md` §6): every open call of the last assistant entry in order, each judged, run and
 * committed before the next is looked at. Ends at the first call that is held or that the control could not answer,
 * under a mark that says so; nothing at or after it has started. Told to stop, it starts nothing more, whatever the control
 * answered, and answers what is open (D3, CONTRACTS §3).
 */
export const runWindow = async (session: Session, input: WindowInput): Promise<WindowOutcome> => {
	let { tip, last, mark } = input;
	const calls = openCalls(input.window).map(({ id, name, input: args }): ToolCall => ({ id, name, input: args }));
	for (const [index, call] of calls.entries()) {
		const settle = async (started?: string): Promise<WindowOutcome> => {
			await settleStopped(session, tip, last, calls.slice(index), started);
			return { kind: "stopped" };
		};
		const park = async (by: "hold" | "fault", reason: string): Promise<WindowOutcome> => {
			const role = input.config.role.name;
			await writeMark(session, { call, role, entry: input.window.entry, kind: by, reason }, mark);
			return { kind: "held", by, reason };
		};
		if (session.stop.aborted) return settle();
		session.emit({ type: "call", ...call });
		const ruling = await rule(session, input, call);
		if (session.stop.aborted) return settle();
		announce(session, call, ruling);
		if (ruling.kind === "park") return park(ruling.by, ruling.reason);
		const own = mark?.mark?.tool_use_id === call.id ? mark : undefined;
		if (own !== undefined && ruling.kind === "run") {
			await transact(session, [removeMark(session.agent, own)], "HOLD_MARK_CLEAR");
			session.effects.crash("mark.cleared");
		}
		if (own !== undefined) mark = undefined;
		const ran = ruling.kind === "run" ? await run(session, input, call, ruling) : ruling;
		if (ran.kind === "stopped") return settle(ran.started ? call.id : undefined);
		if (ran.kind === "park") return park("fault", ran.reason);
		const ops = own !== undefined && ruling.kind === "answer" ? { ops: [removeMark(session.agent, own)] } : {};
		last += 1;
		tip = await commitResult(session, tip, last, { ...ran.result, ...ops });
		if (ran.kind !== "faulted") continue;
		await settleAfterFault(session, tip, last, calls.slice(index + 1));
		return { kind: "faulted", reason: ran.reason };
	}
	if (last === input.last) throw new LernieError("INTERNAL", "a tool window without an open call was entered");
	return { kind: "completed", tip, last };
};
