import { callDigest, LernieError, type ToolCall, usableInput } from "@lernie/contract";
import type { LoadedConfig } from "../config/load.ts";
import type { Adjudication, Control } from "../control/types.ts";
import { executeTool, type ToolOutcome } from "../tools/execute.ts";
import { type ResolvedTool, resolveTool } from "../tools/resolve.ts";
import { permitted, refusalOfUngranted } from "../tools/toolset.ts";
import { timestamp } from "../workspace/effects.ts";
import type { StandingMark } from "../workspace/marks.ts";
import { appendVerdict, stepDirectory, stepName } from "../workspace/steps.ts";
import type { Tip } from "./facts.ts";
import { transact } from "./owner.ts";
import { removeMark, writeMark } from "./park.ts";
import { type CallResult, commitResult } from "./result.ts";
import type { Session } from "./session.ts";
import { settleStopped } from "./settle.ts";
import { notStartedText, refusedText, unusableText } from "./texts.ts";
import { toolContext } from "./tool-context.ts";
import { type OpenWindow, openCalls } from "./transcript-state.ts";

export interface WindowInput {
	readonly tip: Tip;
	/** Number of the newest entry; the next result gets the one after it. */
	readonly last: number;
	readonly window: OpenWindow;
	readonly step: number;
	readonly config: LoadedConfig;
	readonly control: Control;
	/** The mark that parked this window, when it is entered again. */
	readonly mark: StandingMark | undefined;
}

export type WindowOutcome =
	| { readonly kind: "completed"; readonly tip: Tip; readonly last: number }
	| { readonly kind: "held"; readonly by: "hold" | "fault"; readonly reason: string }
	/** Every call that was still open is answered as stopped. */
	| { readonly kind: "stopped" };

type Ruling =
	| { readonly kind: "answer"; readonly result: Omit<CallResult, "ops">; readonly reason: string }
	| { readonly kind: "park"; readonly by: "hold" | "fault"; readonly reason: string }
	| { readonly kind: "run"; readonly tool: ResolvedTool; readonly verdict: "pass" | "none"; readonly judged: Judged };

type Judged = NonNullable<CallResult["judged"]>;

const CONFINED = false;

const decline = (
	call: ToolCall,
	answer: { readonly verdict: CallResult["verdict"]; readonly text: string; readonly reason: string },
	judged?: Judged,
): Ruling => ({
	kind: "answer",
	result: {
		call,
		text: answer.text,
		isError: true,
		verdict: answer.verdict,
		...(judged === undefined ? {} : { judged }),
	},
	reason: answer.reason,
});

const announce = (session: Session, call: ToolCall, ruling: Ruling): void => {
	const verdict = ruling.kind === "park" ? ruling.by : ruling.kind === "run" ? ruling.verdict : ruling.result.verdict;
	const reason = ruling.kind === "run" ? null : ruling.reason;
	session.emit({ type: "verdict", id: call.id, verdict, reason, confined: CONFINED });
};

const recordConsult = (
	session: Session,
	input: WindowInput,
	call: ToolCall,
	tool: ResolvedTool,
	answer: Adjudication,
	digest: string,
): void => {
	if (answer.verdict === "none") return;
	const { agent, layout, effects } = session;
	const reason = answer.verdict === "pass" ? null : answer.verdict === "fault" ? answer.detail : answer.reason;
	appendVerdict(stepDirectory(layout, agent, input.step), {
		at: timestamp(effects.now()),
		id: call.id,
		digest,
		verdict: answer.verdict,
		reason,
		ms: answer.ms,
		fault: answer.verdict === "fault",
		program: tool.program,
		sha256: tool.sha256 ?? null,
		confined: CONFINED,
	});
};

/** Why a call's arguments cannot be used: as its entry says, or as its own text shows where the entry is silent. */
const unusableReason = ({ unusable }: OpenWindow, { id, input }: ToolCall): string | undefined => {
	if (Object.hasOwn(unusable, id)) return unusable[id];
	const usable = usableInput(input);
	return usable.ok ? undefined : usable.why;
};

/** Brings one call before the toolset and then the control; runs nothing (DESIGN §3: forward, never back). */
const judge = async (session: Session, input: WindowInput, call: ToolCall): Promise<Ruling> => {
	const { config, control } = input;
	const injected = session.host?.definitions().map((tool) => tool.name) ?? [];
	const why = unusableReason(input.window, call);
	if (why !== undefined) return decline(call, { verdict: "unusable", text: unusableText(call.name, why), reason: why });
	if (!permitted(config.role.tools, injected, call.name)) {
		const text = refusalOfUngranted(call.name, config.role.name, config.role.tools, injected);
		return decline(call, { verdict: "ungranted", text, reason: text });
	}
	const tool = await resolveTool(call.name, {
		dataRoot: session.roots.data,
		env: session.effects.env,
		...(session.host === undefined ? {} : { host: session.host }),
	});
	const caller = { agent: session.agent, role: config.role.name };
	const answer = await control.adjudicate({
		call,
		caller,
		program: tool.program,
		sha256: tool.sha256,
		confined: CONFINED,
	});
	const digest = callDigest(call, caller);
	recordConsult(session, input, call, tool, answer, digest);
	const judged = { digest, control: control.label, confined: CONFINED };
	switch (answer.verdict) {
		case "fault":
			return { kind: "park", by: "fault", reason: `control fault: ${answer.detail}` };
		case "hold":
			return { kind: "park", by: "hold", reason: answer.reason };
		case "refuse":
			return decline(
				call,
				{ verdict: "refuse", text: refusedText(call.name, answer.reason), reason: answer.reason },
				judged,
			);
		case "pass":
		case "none":
			return { kind: "run", tool, verdict: answer.verdict, judged };
		default:
			return answer satisfies never;
	}
};

type Stopped = ToolOutcome & { readonly kind: "stopped" };

const run = async (
	session: Session,
	input: WindowInput,
	call: ToolCall,
	ruling: Ruling & { kind: "run" },
): Promise<Omit<CallResult, "ops"> | Stopped> => {
	const step = { number: input.step, name: stepName(input.step) };
	const outcome = await executeTool(call, ruling.tool, await toolContext(session, input.config, step));
	const { judged } = ruling;
	if (outcome.kind === "stopped") return outcome;
	if (outcome.kind === "not-started")
		return { call, text: notStartedText(call.name, outcome.why), isError: true, verdict: ruling.verdict, judged };
	const { exitCode, ms, bytes } = outcome;
	return {
		call,
		text: outcome.text,
		isError: outcome.isError,
		verdict: ruling.verdict,
		judged,
		ran: { exitCode, ms, bytes },
	};
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
	const settle = async (from: ToolCall, started?: string): Promise<WindowOutcome> => {
		await settleStopped(session, tip, last, calls.slice(calls.indexOf(from)), started);
		return { kind: "stopped" };
	};
	for (const call of calls) {
		const { id } = call;
		if (session.stop.aborted) return settle(call);
		session.emit({ type: "call", ...call });
		const ruling = await judge(session, input, call);
		if (session.stop.aborted) return settle(call);
		announce(session, call, ruling);
		const own = mark?.mark?.tool_use_id === id ? mark : undefined;
		if (ruling.kind === "park") {
			const { by, reason } = ruling;
			const park = { call, role: input.config.role.name, entry: input.window.entry, kind: by, reason };
			await writeMark(session, park, mark);
			return { kind: "held", by, reason };
		}
		if (own !== undefined && ruling.kind === "run") {
			await transact(session, [removeMark(session.agent, own)], "HOLD_MARK_CLEAR");
			session.effects.crash("mark.cleared");
		}
		const result = ruling.kind === "run" ? await run(session, input, call, ruling) : ruling.result;
		if ("kind" in result) return settle(call, result.started ? id : undefined);
		const ops = own !== undefined && ruling.kind === "answer" ? { ops: [removeMark(session.agent, own)] } : {};
		if (own !== undefined) mark = undefined;
		last += 1;
		tip = await commitResult(session, tip, last, { ...result, ...ops });
	}
	if (last === input.last) throw new LernieError("INTERNAL", "a tool window without an open call was entered");
	return { kind: "completed", tip, last };
};
