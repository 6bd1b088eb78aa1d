import type { Caller, CallFacts, ToolCall } from "@lernie/contract";
import type { Environment } from "../process/environment.ts";
import type { Effects } from "../workspace/effects.ts";
import type { TrackGroup } from "../workspace/running.ts";

export interface ControlContext {
	/** Root of the workspace, absolute; a control runs there. */
	readonly workspace: string;
	/** The driver's environment; a control gets a closed list out of it. */
	readonly env: Environment;
	readonly effects: Pick<Effects, "crash">;
	/** Told of each group that judges, so that it does not outlive a killed driver. */
	readonly track: TrackGroup;
	/** Ends a consult under way; its answer is then of no use to the caller. */
	readonly stop?: AbortSignal | undefined;
}

/** One call put before a control, with what it was resolved to (DESIGN D22). */
export interface Question extends CallFacts {
	readonly call: ToolCall;
	readonly caller: Caller;
}

/** `none`: there is no control, which is not a pass. `fault`: there is no verdict, so the call does not run (law 2). */
export type Ruling =
	| { readonly verdict: "none" }
	| { readonly verdict: "pass" }
	| { readonly verdict: "refuse" | "hold"; readonly reason: string }
	/** `detail` names the command and the tool, says that the call was not run, and why. */
	| { readonly verdict: "fault"; readonly detail: string };

export type Adjudication = Ruling & { readonly ms: number };

export interface Control {
	/** Value of the trailer `Lernie-Control`: what judged, and the digest of its file when what judged was started. */
	readonly label: string | undefined;
	/** Never rejects: whatever goes wrong is a fault. */
	adjudicate(question: Question): Promise<Adjudication>;
	/** Ends what it keeps running; to be called once, when nothing is asked any more. */
	close(): Promise<void>;
}
