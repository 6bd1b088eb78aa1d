import type { Environment } from "../process/environment.ts";
import { runChild } from "../process/run-child.ts";
import { BUILTINS, unknownTool } from "./builtin/pool.ts";
import type { ToolServices } from "./builtin/types.ts";
import { resolveTool } from "./resolve.ts";

export interface PersonalContext {
	readonly cwd: string;
	/** The person's own environment: nothing is cut from it, it is their shell. */
	readonly env: Environment;
	readonly services: ToolServices;
	readonly stdout: (chunk: Buffer) => void;
	readonly stderr: (chunk: Buffer) => void;
	readonly stop?: AbortSignal | undefined;
}

const GRACE_MS = 2000;

/**
 * `lernie tool <name>`: the built-in's own function for a person, without a record (CONTRACTS §5). Resolves with the exit
 * code; an unknown name is 1 and lists the pool.
 */
export const runBuiltinForPerson = async (name: string, input: string, context: PersonalContext): Promise<number> => {
	const { cwd, services, stdout, stderr } = context;
	const env = Object.fromEntries(
		Object.entries(context.env).flatMap(([key, value]): [string, string][] =>
			value === undefined ? [] : [[key, value]],
		),
	);
	const builtin = BUILTINS.get(name);
	// No data root: a replacement of the built-in is not what was asked for.
	const tool = await resolveTool(name, { dataRoot: "/dev/null", env });
	const answer =
		builtin === undefined ? unknownTool(name) : await builtin(input, { cwd, env, services, shell: tool.path });
	if (answer.kind === "answer") {
		stdout(answer.stdout);
		stderr(answer.stderr);
		return answer.exitCode;
	}
	const sink = (write: (chunk: Buffer) => void) => ({
		// A copy: the stream of a person is written later, and a chunk is valid only now.
		write: (chunk: Buffer) => write(Buffer.from(chunk)),
		end: () => undefined,
	});
	const end = await runChild({
		...answer.command,
		stdout: sink(stdout),
		stderr: sink(stderr),
		graceMs: GRACE_MS,
		stop: context.stop,
	});
	switch (end.kind) {
		case "exited":
			return end.code;
		case "signalled":
			return 128 + end.number;
		case "timed-out":
		case "not-started":
			stderr(Buffer.from(`lernie tool ${name}: ${end.kind === "not-started" ? end.message : "timed out"}\n`));
			return 1;
		default:
			return end satisfies never;
	}
};
