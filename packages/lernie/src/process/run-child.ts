import { type ChildProcess, spawn } from "node:child_process";
import { closeSync } from "node:fs";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { errnoOf, messageOf } from "@lernie/contract";
import { terminateGroup } from "./group.ts";
import { openBytes, openPipe, type Pipe, readPipe } from "./pipe.ts";
import type { OutputSink } from "./sink.ts";

export interface ChildOptions {
	readonly program: string;
	readonly args: readonly string[];
	/** The whole environment of the child; nothing is inherited. */
	readonly env: Readonly<Record<string, string>>;
	readonly cwd: string;
	/** What the child reads, then EOF. Absent: `/dev/null`. */
	readonly stdin?: string | Uint8Array;
	readonly stdout: OutputSink;
	readonly stderr: OutputSink;
	/** From the spawn to the complete answer: exit and end of both streams. Absent: no limit. */
	readonly timeoutMs?: number;
	/** From SIGTERM to SIGKILL where the group has to be ended. */
	readonly graceMs: number;
	/** How long a descendant may keep the streams open after the child's exit (DESIGN D11). */
	readonly pipeGraceMs?: number;
	/** How often a program file that is open for writing is tried, and the pause between two tries. */
	readonly busy?: { readonly attempts: number; readonly pauseMs: number };
	/** Ends the child's group when it fires; the outcome is then how the child in fact ended. */
	readonly stop?: AbortSignal | undefined;
	/** Called right after the spawn. If it throws, the child is killed. */
	readonly onSpawned?: (pid: number) => void;
}

export type ChildEnd =
	| { readonly kind: "not-started"; readonly errno: string; readonly message: string }
	| { readonly kind: "exited"; readonly code: number }
	| { readonly kind: "signalled"; readonly signal: NodeJS.Signals; readonly number: number }
	| { readonly kind: "timed-out"; readonly timeoutMs: number };

export type ChildOutcome = ChildEnd & { readonly ms: number };

const PIPE_GRACE_MS = 2000;
const BUSY = { attempts: 100, pauseMs: 2 };
/** How often a reader that is behind is looked at once nobody writes any more. */
const BEHIND_MS = 20;
/** Above this Node fires a timer at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

const notStarted = (thrown: unknown): ChildEnd => ({
	kind: "not-started",
	errno: errnoOf(thrown) ?? "UNKNOWN",
	message: messageOf(thrown),
});

const endOf = (code: number | null, signal: NodeJS.Signals | null): ChildEnd =>
	signal === null
		? { kind: "exited", code: code ?? 1 }
		: { kind: "signalled", signal, number: constants.signals[signal] };

/** How a child counts that outlived SIGKILL, another user's for instance: it must not keep the driver waiting. */
const UNKILLABLE: ChildEnd = { kind: "signalled", signal: "SIGKILL", number: constants.signals.SIGKILL };

/** What the child gets as its three streams, and our ends of two of them. */
interface Streams {
	readonly stdin: number | undefined;
	readonly stdout: Pipe;
	readonly stderr: Pipe;
}

const openStreams = async (stdin: string | Uint8Array | undefined): Promise<Streams> => {
	const pipes = { stdin: undefined, stdout: await openPipe(), stderr: await openPipe() };
	try {
		return { ...pipes, stdin: stdin === undefined ? undefined : openBytes(stdin) };
	} catch (thrown) {
		closeChildEnds(pipes);
		closeOwnEnds(pipes);
		throw thrown;
	}
};

const closeChildEnds = ({ stdin, stdout, stderr }: Streams): void => {
	for (const fd of [stdin, stdout.write, stderr.write]) if (fd !== undefined) closeSync(fd);
};

const closeOwnEnds = ({ stdout, stderr }: Streams): void => {
	for (const fd of [stdout.read, stderr.read]) closeSync(fd);
};

const start = (options: ChildOptions, { stdin, stdout, stderr }: Streams): ChildProcess =>
	spawn(options.program, [...options.args], {
		cwd: options.cwd,
		env: { ...options.env },
		detached: true,
		stdio: [stdin ?? "ignore", stdout.write, stderr.write],
	});

const readInto = (fd: number, sink: OutputSink): Socket => {
	const socket = readPipe(fd, (chunk) => sink.write(chunk));
	sink.attach?.(socket);
	return socket.once("close", () => sink.end());
};

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.once("close", () => resolve()));

/** Waits for the spawned child; every timer and listener made here is gone when it settles. */
const follow = async (child: ChildProcess, pid: number, streams: Streams, options: ChildOptions): Promise<ChildEnd> => {
	const exit = Promise.withResolvers<ChildEnd>();
	const abandoned = Promise.withResolvers<void>();
	const outputs = [readInto(streams.stdout.read, options.stdout), readInto(streams.stderr.read, options.stderr)];
	const drained = Promise.all(outputs.map(closed));
	let pipeTimer: NodeJS.Timeout | undefined;
	let ending: Promise<void> | undefined;
	let timedOut: ChildEnd | undefined;
	const end = (graceMs: number): void => {
		ending ??= terminateGroup(pid, graceMs).then((ended) => {
			if (!ended) abandoned.resolve();
		});
	};
	const onStop = (): void => end(options.graceMs);
	const letGo = (): void => {
		for (const output of outputs) output.destroy();
	};
	const behind = (): boolean => outputs.some((output) => !output.destroyed && output.isPaused());
	const letGoOnceRead = (afterMs: number): void => {
		pipeTimer = setTimeout(() => {
			// One whole turn of the loop: what lies in the pipes by then is read, however late the timer came.
			if (behind()) letGoOnceRead(BEHIND_MS);
			else setImmediate(() => (behind() ? letGoOnceRead(BEHIND_MS) : letGo()));
		}, afterMs);
	};
	child.once("exit", (code, signal) => {
		exit.resolve(endOf(code, signal));
		letGoOnceRead(options.pipeGraceMs ?? PIPE_GRACE_MS);
	});
	options.stop?.addEventListener("abort", onStop);
	const limit = options.timeoutMs;
	const onLimit = (timeoutMs: number) => (): void => {
		timedOut = { kind: "timed-out", timeoutMs };
		end(options.graceMs);
	};
	const timer = limit === undefined ? undefined : setTimeout(onLimit(limit), Math.min(limit, TIMER_MAX_MS));
	try {
		options.onSpawned?.(pid);
		if (options.stop?.aborted) onStop();
		await Promise.race([Promise.all([exit.promise, drained]), abandoned.promise]);
		await ending;
		return timedOut ?? (await Promise.race([exit.promise, abandoned.promise.then(() => UNKILLABLE)]));
	} catch (thrown) {
		end(0);
		await ending;
		throw thrown;
	} finally {
		clearTimeout(timer);
		clearTimeout(pipeTimer);
		child.removeAllListeners("exit");
		child.unref();
		options.stop?.removeEventListener("abort", onStop);
		letGo();
	}
};

/** One try: the child's end, or the error of the spawn. Node throws some of those errors and emits the others. */
const attempt = async (options: ChildOptions, streams: Streams): Promise<ChildEnd | { readonly refused: unknown }> => {
	let child: ChildProcess;
	try {
		child = start(options, streams);
	} catch (thrown) {
		return { refused: thrown };
	}
	if (child.pid !== undefined) {
		closeChildEnds(streams);
		return follow(child, child.pid, streams, options);
	}
	return { refused: await new Promise<unknown>((resolve) => child.once("error", resolve)) };
};

const attempts = async (options: ChildOptions): Promise<ChildEnd> => {
	const { attempts: most, pauseMs } = options.busy ?? BUSY;
	let streams: Streams;
	try {
		streams = await openStreams(options.stdin);
	} catch (thrown) {
		return notStarted(thrown);
	}
	for (let tried = 1; ; tried += 1) {
		const stopped = options.stop?.aborted === true;
		const end = stopped ? { refused: new Error("stopped before it started") } : await attempt(options, streams);
		if (!("refused" in end)) return end;
		if (errnoOf(end.refused) === "ETXTBSY" && tried < most) {
			await sleep(pauseMs);
			continue;
		}
		closeChildEnds(streams);
		closeOwnEnds(streams);
		return notStarted(end.refused);
	}
};

/** The same sink, ended once whoever ends it: its stream, or the outcome where there is no stream. */
const endedOnce = (sink: OutputSink): OutputSink => {
	let ended = false;
	return {
		write: (chunk) => sink.write(chunk),
		attach: (flow) => sink.attach?.(flow),
		end() {
			if (!ended) sink.end();
			ended = true;
		},
	};
};

/**
 * The one spawn of the house. The child leads its own session and group, gets the environment it is given and nothing
 * else, and its outcome is total: not started, exited, signalled or timed out. A timeout, a stop and a fault of
 * `onSpawned` end the whole group. Rejects only with what
 * `onSpawned` threw.
 */
export const runChild = async (options: ChildOptions): Promise<ChildOutcome> => {
	const began = performance.now();
	const [stdout, stderr] = [endedOnce(options.stdout), endedOnce(options.stderr)];
	try {
		const end = await attempts({ ...options, stdout, stderr });
		return { ...end, ms: Math.round(performance.now() - began) };
	} finally {
		stdout.end();
		stderr.end();
	}
};
