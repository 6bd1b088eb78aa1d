import type { CrashPoint } from "../../workspace/crash.ts";
import type { Command } from "../sandbox.ts";

/** What a built-in may do beside files and processes: the record is the driver's. A rejection is a fault, not an answer. */
export interface ToolServices {
	/** Moves the agent for good; `path` is absolute and a directory. */
	setCwd(path: string): Promise<void>;
	/** Deposits a message from the calling agent. */
	sendMessage(
		agent: string,
		content: string,
	): Promise<{ readonly ok: true } | { readonly ok: false; readonly why: string }>;
}

interface BuiltinContext {
	/** The agent's working directory, absolute. */
	readonly cwd: string;
	/** The closed environment of a tool process (CONTRACTS §5). */
	readonly env: Readonly<Record<string, string>>;
	/** The shell `bash` was resolved to; absent where there is none. */
	readonly shell: string | undefined;
	readonly services: ToolServices;
	readonly crash: CrashPoint;
}

export interface BuiltinAnswer {
	readonly kind: "answer";
	readonly stdout: Buffer;
	readonly stderr: Buffer;
	readonly exitCode: number;
}

/** A built-in answers, or names the program whose answer is its own; the executor starts that like any external tool. */
export type BuiltinOutcome = BuiltinAnswer | { readonly kind: "run"; readonly command: Command };

/** `input` is the JSON text of the call. Failure is an answer with exit code 1 and one line on stderr. */
export type Builtin = (input: string, context: BuiltinContext) => Promise<BuiltinOutcome>;

const NOTHING = Buffer.alloc(0);

export const success = (stdout: Buffer): BuiltinAnswer => ({ kind: "answer", stdout, stderr: NOTHING, exitCode: 0 });

/** One line, whatever a path or an error text holds (`spec/tools.md` §10). */
export const failure = (tool: string, reason: string): BuiltinAnswer => ({
	kind: "answer",
	stdout: NOTHING,
	stderr: Buffer.from(`lernie tool ${tool}: ${reason.replaceAll(/[\r\n]+/g, " ")}\n`),
	exitCode: 1,
});
