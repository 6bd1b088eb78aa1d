import { callDigest, type ToolCall } from "@lernie/contract";
import type { LoadedConfig } from "../config/load.ts";
import type { Adjudication, Control } from "../control/types.ts";
import { type ResolvedTool, resolveTool } from "../tools/resolve.ts";
import { permitted, refusalOfUngranted } from "../tools/toolset.ts";
import { timestamp } from "../workspace/effects.ts";
import { appendVerdict, stepDirectory } from "../workspace/steps.ts";
import type { CallResult } from "./result.ts";
import type { Session } from "./session.ts";
import { refusedText } from "./texts.ts";

/** Who judges, and the step whose record the consults go to. */
export interface Court {
	readonly step: number;
	readonly config: LoadedConfig;
	readonly control: Control;
}

type Judged = NonNullable<CallResult["judged"]>;

/** What becomes of a call: answered as it is, parked, or run. */
export type Ruling =
	| { readonly kind: "answer"; readonly result: Omit<CallResult, "ops">; readonly reason: string }
	| { readonly kind: "park"; readonly by: "hold" | "fault"; readonly reason: string; readonly judged: Judged }
	| { readonly kind: "run"; readonly tool: ResolvedTool; readonly verdict: "pass" | "none"; readonly judged: Judged };

const CONFINED = false;

/** The ruling of a call that is answered without being run. */
export const decline = (
	call: ToolCall,
	answer: { readonly verdict: CallResult["verdict"]; readonly text: string; readonly reason: string },
	judged?: Judged,
): Ruling & { readonly kind: "answer" } => ({
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

/** Tells who watches what was ruled. */
export const announce = (session: Session, call: ToolCall, ruling: Ruling): void => {
	const verdict = ruling.kind === "park" ? ruling.by : ruling.kind === "run" ? ruling.verdict : ruling.result.verdict;
	const reason = ruling.kind === "run" ? null : ruling.reason;
	session.emit({ type: "verdict", id: call.id, verdict, reason, confined: CONFINED });
};

const recordConsult = (
	session: Session,
	step: number,
	call: ToolCall,
	tool: ResolvedTool,
	answer: Adjudication,
	digest: string,
): void => {
	if (answer.verdict === "none") return;
	const { agent, layout, effects } = session;
	const reason = answer.verdict === "pass" ? null : answer.verdict === "fault" ? answer.detail : answer.reason;
	appendVerdict(stepDirectory(layout, agent, step), {
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

/** Brings one call before the toolset and then the control; runs nothing (DESIGN §3: forward, never back). */
export const judge = async (session: Session, { step, config, control }: Court, call: ToolCall): Promise<Ruling> => {
	const injected = session.host?.definitions().map((tool) => tool.name) ?? [];
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
	const { program, sha256 } = tool;
	const answer = await control.adjudicate({ call, caller, program, sha256, confined: CONFINED });
	const digest = callDigest(call, caller);
	recordConsult(session, step, call, tool, answer, digest);
	const judged = { digest, control: control.label, confined: CONFINED };
	switch (answer.verdict) {
		case "fault":
			return { kind: "park", by: "fault", reason: `control fault: ${answer.detail}`, judged };
		case "hold":
			return { kind: "park", by: "hold", reason: answer.reason, judged };
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
