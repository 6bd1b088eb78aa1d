import type { ToolCall } from "@lernie/contract";
import { executeTool } from "../tools/execute.ts";
import { stepName } from "../workspace/steps.ts";
import type { Court, Ruling } from "./judge.ts";
import type { CallResult } from "./result.ts";
import type { Session } from "./session.ts";
import { notStartedText } from "./texts.ts";
import { toolContext } from "./tool-context.ts";

export type Ran =
	| { readonly kind: "result"; readonly result: Omit<CallResult, "ops"> }
	/** A stop ended it, or came before it started. */
	| { readonly kind: "stopped"; readonly started: boolean };

/** Runs a call that was ruled to run. `directory` is where its record goes, in place of the one its id gives. */
export const runCall = async (
	session: Session,
	{ step, config }: Court,
	call: ToolCall,
	{ tool, verdict, judged }: Ruling & { kind: "run" },
	directory?: string,
): Promise<Ran> => {
	const context = await toolContext(session, config, { number: step, name: stepName(step) });
	const outcome = await executeTool(call, tool, directory === undefined ? context : { ...context, directory });
	switch (outcome.kind) {
		case "stopped":
			return outcome;
		case "not-started": {
			const text = notStartedText(call.name, outcome.why);
			return { kind: "result", result: { call, text, isError: true, verdict, judged } };
		}
		case "answered": {
			const { text, isError, exitCode, ms, bytes } = outcome;
			return { kind: "result", result: { call, text, isError, verdict, judged, ran: { exitCode, ms, bytes } } };
		}
		default:
			return outcome satisfies never;
	}
};
