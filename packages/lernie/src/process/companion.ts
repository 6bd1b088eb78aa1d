import type { ChildProcess } from "node:child_process";
import { closeSync } from "node:fs";
import { Socket } from "node:net";
import { LernieError, type ProcessRecord } from "@lernie/contract";
import { endGroup, terminateGroup } from "./group.ts";
import { isDead, processIdentity, readStat } from "./identity.ts";
import { createLineBuffer, type LineReading } from "./line-buffer.ts";
import { openPipe, type Pipe, readAvailable, readPipe } from "./pipe.ts";
import { createTail } from "./sink.ts";
import { type ChildCommand, type ChildExit, childExit, startChild } from "./start.ts";

export interface CompanionOptions extends ChildCommand {
	/** The longest answer, without its newline. */
	readonly lineBytes: number;
	/** How much of the end of its stderr is kept. */
	readonly stderrBytes: number;
	/** Told of its group right after the spawn; what it answers is called once none of the group is left. If it throws, the child is killed. */
	readonly track: (group: ProcessRecord) => () => void;
}

/** What comes of a line: the line that answers it, or why there is none and never will be. */
export type Reply =
	| LineReading
	/** It closed its stdout and lives on. */
	| { readonly kind: "closed" }
	| ChildExit
	| { readonly kind: "timed-out" }
	| { readonly kind: "stopped" }
	/** It had answered before and was gone when this line was to be sent: nothing was asked. */
	| { readonly kind: "gone" };

interface AskOptions {
	/** On the clock of `performance.now()`. */
	readonly deadline: number;
	readonly stop?: AbortSignal | undefined;
}

/** A child that stays and answers one line with one line. */
export interface Companion {
	/** When it was started, on the clock of `performance.now()`. */
	readonly startedAt: number;
	/**
	 * Writes a line (given without its newline), at once, and waits for the line that answers it. Any other reply is the
	 * last one: the group is gone when it is handed over. One line at a time.
	 */
	ask(line: string, options: AskOptions): Promise<Reply>;
	/** Writes part of a line; resolves once the pipe has taken all of it, or never will. */
	send(text: string): Promise<void>;
	/** How its leader ended; undefined while it runs, and where nobody saw it. */
	ended(): ChildExit | undefined;
	/** Bytes it wrote when nothing was asked. */
	unasked(): Buffer | undefined;
	/** The end of its stderr. */
	stderr(): Buffer;
	/** Ends the group: SIGTERM, and SIGKILL after `graceMs`. */
	kill(graceMs: number): Promise<void>;
	/** Closes its stdin and lets it end by itself; SIGTERM after 2 s, SIGKILL after 5 s (CONTRACTS §3). */
	close(): Promise<void>;
}

const GRACE_MS = 2000;
const CLOSE_MS = { term: 2000, kill: 5000 };
/** From the end of stdout to the exit that mostly comes with it: an exit tells more. */
const EXIT_AFTER_EOF_MS = 1000;
/** From the death of a child to Node's event, where the child was not seen to end. */
const REAP_MS = 500;

const within = async (ms: number, event: Promise<void>): Promise<void> => {
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<void>((resolve) => {
		timer = setTimeout(resolve, ms);
	});
	await Promise.race([event, late]);
	clearTimeout(timer);
};

interface Pipes {
	readonly stdin: Pipe;
	readonly stdout: Pipe;
	readonly stderr: Pipe;
}

const accompany = async (
	child: ChildProcess,
	pid: number,
	pipes: Pipes,
	options: CompanionOptions,
): Promise<Companion> => {
	const startedAt = performance.now();
	const group = processIdentity(pid);
	const exit = Promise.withResolvers<void>();
	const tail = createTail({ maxBytes: options.stderrBytes });
	const lines = createLineBuffer(options.lineBytes);
	let answered = 0;
	let waiting: ((reply: Reply) => void) | undefined;
	let last: Reply | undefined;
	let exited: ChildExit | undefined;
	let closed = false;
	let ending: Promise<void> | undefined;
	let forget = (): void => undefined;
	let timers: NodeJS.Timeout[] = [];

	const drain = (): void => {
		readAvailable(stdout, pipes.stdout.read, lines.take);
		readAvailable(stderr, pipes.stderr.read, tail.write);
	};
	const settle = (reply: Reply): void => {
		for (const timer of timers) clearTimeout(timer);
		timers = [];
		const answer = waiting;
		waiting = undefined;
		if (reply.kind === "line") answered += 1;
		else {
			last ??= reply;
			endSoon();
		}
		answer?.(reply);
	};
	const look = (): void => {
		const reply = last === undefined ? lines.read(waiting !== undefined, drain) : undefined;
		if (reply !== undefined) settle(reply);
	};
	const stdin = new Socket({ fd: pipes.stdin.write, readable: false, writable: true }).on("error", () => undefined);
	const stdout = readPipe(pipes.stdout.read, (chunk) => {
		lines.take(chunk);
		look();
	});
	const stderr = readPipe(pipes.stderr.read, tail.write);

	const endBy = async (graceMs: number): Promise<void> => {
		const gone = await (group === undefined ? terminateGroup(pid, graceMs) : endGroup(group, graceMs)).catch(
			() => false,
		);
		await within(REAP_MS, exit.promise);
		if (waiting !== undefined) settle({ kind: "closed" });
		for (const stream of [stdin, stdout, stderr]) stream.destroy();
		child.removeAllListeners("exit");
		child.unref();
		if (gone) forget();
	};
	const kill = (graceMs: number): Promise<void> => {
		ending ??= endBy(graceMs);
		return ending;
	};
	/** Nobody waits here; a fault of it is told to whoever does. */
	const endSoon = (): void => {
		kill(GRACE_MS).catch(() => undefined);
	};
	child.once("exit", (code, signal) => {
		exited = childExit(code, signal);
		exit.resolve();
		drain();
		look();
		if (waiting !== undefined) settle(exited);
		else endSoon();
	});
	stdout.once("close", () => {
		closed = true;
		if (ending !== undefined || exited !== undefined) return;
		if (waiting === undefined) endSoon();
		else timers.push(setTimeout(() => settle({ kind: "closed" }), EXIT_AFTER_EOF_MS));
	});
	const isGone = (): boolean => {
		const stat = readStat(pid);
		return ending !== undefined || exited !== undefined || closed || stat === undefined || isDead(stat);
	};
	const companion: Companion = {
		startedAt,
		async ask(line, { deadline, stop }) {
			if (waiting !== undefined) throw new LernieError("INTERNAL", "a second line before the first was answered");
			drain();
			look();
			if (last === undefined && answered > 0 && isGone()) last = { kind: "gone" };
			if (last === undefined && stop?.aborted === true) last = { kind: "stopped" };
			if (last !== undefined) {
				await kill(GRACE_MS);
				return last;
			}
			const onStop = (): void => settle({ kind: "stopped" });
			const reply = await new Promise<Reply>((resolve) => {
				waiting = resolve;
				const late = (): void => {
					drain();
					look();
					if (waiting !== undefined) settle({ kind: "timed-out" });
				};
				timers.push(setTimeout(late, Math.max(0, deadline - performance.now())));
				stop?.addEventListener("abort", onStop, { once: true });
				if (exited !== undefined) settle(exited);
				else stdin.write(`${line}\n`);
			});
			stop?.removeEventListener("abort", onStop);
			if (reply.kind !== "line") await kill(GRACE_MS);
			return reply;
		},
		send: (text) => new Promise((resolve) => stdin.write(text, () => resolve())),
		ended: () => exited,
		unasked: () => (last?.kind === "unasked" ? last.bytes : undefined),
		stderr: tail.bytes,
		kill,
		close: () => {
			ending ??= (async () => {
				// Not `end`, which waits until everything was read.
				stdin.destroy();
				await within(CLOSE_MS.term, exit.promise);
				await endBy(CLOSE_MS.kill - CLOSE_MS.term);
			})();
			return ending;
		},
	};
	try {
		if (group !== undefined) forget = options.track(group);
	} catch (thrown) {
		await kill(0);
		throw thrown;
	}
	return companion;
};

const openPipes = async (): Promise<Pipes> => {
	const [stdin, stdout, stderr] = await Promise.allSettled([openPipe(), openPipe(), openPipe()]);
	if (stdin.status === "fulfilled" && stdout.status === "fulfilled" && stderr.status === "fulfilled")
		return { stdin: stdin.value, stdout: stdout.value, stderr: stderr.value };
	let reason: unknown;
	for (const made of [stdin, stdout, stderr]) {
		if (made.status === "rejected") reason = made.reason;
		else for (const fd of [made.value.read, made.value.write]) closeSync(fd);
	}
	throw reason;
};

/**
 * Starts a program that stays, with kernel pipes for its three streams. It ends when its stdin does, so also with a driver
 * that is killed; whoever finds its group on record ends one that does not. Rejects with what `track` threw.
 */
export const startCompanion = async (options: CompanionOptions): Promise<Companion | { readonly refused: unknown }> => {
	const pipes = await openPipes();
	const { stdin, stdout, stderr } = pipes;
	const started = await startChild(options, [stdin.read, stdout.write, stderr.write]);
	for (const fd of [stdin.read, stdout.write, stderr.write]) closeSync(fd);
	if ("refused" in started) {
		for (const fd of [stdin.write, stdout.read, stderr.read]) closeSync(fd);
		return started;
	}
	return accompany(started.child, started.pid, pipes, options);
};
