import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { errnoOf } from "@lernie/contract";

export interface ChildCommand {
	readonly program: string;
	readonly args: readonly string[];
	/** The whole environment of the child; nothing is inherited. */
	readonly env: Readonly<Record<string, string>>;
	readonly cwd: string;
	/** How often a program file that is open for writing is tried, and the pause between two tries. */
	readonly busy?: { readonly attempts: number; readonly pauseMs: number };
	/** Once it fired nothing is started any more. */
	readonly stop?: AbortSignal | undefined;
}

/** A child's three streams: descriptors that are handed over, which the caller closes on its own side. */
type Stdio = readonly [stdin: number | "ignore", stdout: number, stderr: number];

export type Started = { readonly child: ChildProcess; readonly pid: number } | { readonly refused: unknown };

export type ChildExit =
	| { readonly kind: "exited"; readonly code: number }
	| { readonly kind: "signalled"; readonly signal: NodeJS.Signals; readonly number: number };

const BUSY = { attempts: 100, pauseMs: 2 };

/** How a process ended, from what Node's event `exit` says of it. */
export const childExit = (code: number | null, signal: NodeJS.Signals | null): ChildExit =>
	signal === null
		? { kind: "exited", code: code ?? 1 }
		: { kind: "signalled", signal, number: constants.signals[signal] };

/** One try. Node throws some errors of a spawn and emits the others. */
const attempt = async ({ program, args, env, cwd }: ChildCommand, stdio: Stdio): Promise<Started> => {
	let child: ChildProcess;
	try {
		child = spawn(program, [...args], { cwd, env: { ...env }, detached: true, stdio: [...stdio] });
	} catch (thrown) {
		return { refused: thrown };
	}
	const { pid } = child;
	if (pid !== undefined) return { child, pid };
	return { refused: await new Promise<unknown>((resolve) => child.once("error", resolve)) };
};

/**
 * Starts a program as the leader of its own session and group, with the environment it is given and nothing else; tried
 * again while its file is open for writing. `refused` is why it did not start. A caller that listens at once misses nothing
 * of a child that started.
 */
export const startChild = async (command: ChildCommand, stdio: Stdio): Promise<Started> => {
	const { attempts, pauseMs } = command.busy ?? BUSY;
	for (let tried = 1; ; tried += 1) {
		if (command.stop?.aborted === true) return { refused: new Error("stopped before it started") };
		const started = await attempt(command, stdio);
		if (!("refused" in started) || errnoOf(started.refused) !== "ETXTBSY" || tried >= attempts) return started;
		await sleep(pauseMs);
	}
};
