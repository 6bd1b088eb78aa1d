import type { ResultVerdict } from "./record.ts";

/** States an agent is listed in; the first that fits (CONTRACTS §10). */
export type AgentState = "running" | "failed" | "held" | "limit" | "stopped" | "crashed" | "pending" | "done";

/** What a drive tells while it runs; with `--json` one object a line, a closed set (CONTRACTS §10). */
export type RunEvent =
	| { readonly type: "agent"; readonly id: string; readonly name: string }
	| { readonly type: "text"; readonly text: string }
	/** `input` is the compact JSON text of the arguments. */
	| { readonly type: "call"; readonly id: string; readonly name: string; readonly input: string }
	| {
			readonly type: "verdict";
			readonly id: string;
			readonly verdict: ResultVerdict | "hold" | "fault";
			readonly reason: string | null;
			readonly rule?: string;
			readonly confined: boolean;
	  }
	| {
			readonly type: "result";
			readonly id: string;
			readonly is_error: boolean;
			readonly exit_code: number | null;
			readonly ms: number;
			readonly bytes: number;
	  }
	| { readonly type: "retry"; readonly attempt: number; readonly delay_ms: number; readonly error: string }
	| { readonly type: "notice"; readonly code: string; readonly message: string }
	| { readonly type: "end"; readonly state: AgentState; readonly exit: number };

/** One event as a line of JSON, the arguments of a call as the bytes the model sent. */
export const runEventToJson = (event: RunEvent): string => {
	if (event.type !== "call") return JSON.stringify(event);
	return `{"type":"call","id":${JSON.stringify(event.id)},"name":${JSON.stringify(event.name)},"input":${event.input}}`;
};
