import type { ChildProcess } from "node:child_process";
import { closeSync } from "node:fs";
import type { Socket } from "node:net";
import { constants } from "node:os";
import { errnoOf, messageOf } from "@lernie/contract";
import { terminateGroup } from "./group.ts";
import { openBytes, openPipe, type Pipe, readPipe } from "./pipe.ts";
import type { OutputSink } from "./sink.ts";
import { type ChildCommand, type ChildExit, childExit, startChild } from "./start.ts";

export interface ChildOptions extends ChildCommand {
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
	/** Also ends the child's group when it fires; the outcome is then how the child in fact ended. */
	readonly stop?: AbortSignal | undefined;
	/** Called right after the spawn. If it throws, the child is killed. */
	readonly onSpawned?: (pid: number) => void;
}

export type ChildEnd =
	| { readonly kind: "not-started"; readonly errno: string; readonly message: string }
	| ChildExit
	| { readonly kind: "timed-out"; readonly timeoutMs: number };

export type ChildOutcome = ChildEnd & { readonly ms: number };

const PIPE_GRACE_MS = 2000;
/** How often a reader that is behind is looked at once nobody writes any more. */
const BEHIND_MS = 20;
/** Above this Node fires a timer at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

const notStarted = (thrown: unknown): ChildEnd => ({
	kind: "not-started",
	errno: errnoOf(thrown) ?? "UNKNOWN",
	message: messageOf(thrown),
});

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
			// Who still holds a stream is not of the group, and has nothing to say any more.
			letGoOnceRead(0);
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
		exit.resolve(childExit(code, signal));
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

const startAndFollow = async (options: ChildOptions): Promise<ChildEnd> => {
	let streams: Streams;
	try {
		streams = await openStreams(options.stdin);
	} catch (thrown) {
		return notStarted(thrown);
	}
	const { stdin, stdout, stderr } = streams;
	const started = await startChild(options, [stdin ?? "ignore", stdout.write, stderr.write]);
	closeChildEnds(streams);
	if (!("refused" in started)) return follow(started.child, started.pid, streams, options);
	closeOwnEnds(streams);
	return notStarted(started.refused);
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
 * Runs a program to its end, with its whole stdin at hand. The child leads its own session and group, gets the environment
 * it is given and nothing else, and its outcome is total: not started, exited, signalled or timed out. A timeout, a stop
 * and a fault of `onSpawned` end the whole group. Rejects only with what `onSpawned` threw.
 */
export const runChild = async (options: ChildOptions): Promise<ChildOutcome> => {
	const began = performance.now();
	const [stdout, stderr] = [endedOnce(options.stdout), endedOnce(options.stderr)];
	try {
		const end = await startAndFollow({ ...options, stdout, stderr });
		return { ...end, ms: Math.round(performance.now() - began) };
	} finally {
		stdout.end();
		stderr.end();
	}
};
