import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { errnoOf, LernieError } from "@lernie/contract";

/** The two ends of a pipe, as descriptors that close when this process starts another program. */
export interface Pipe {
	readonly read: number;
	readonly write: number;
}

/** Made at once, because making them costs a process: enough for four children. */
const BATCH = 12;

const READ_BYTES = 64 * 1024;

/** Pipes nobody uses yet, each as one descriptor that is open both ways. */
const idle: number[] = [];
let filling: Promise<void> | undefined;

const makeFifos = (paths: readonly string[]): Promise<void> =>
	new Promise((resolve, reject) => {
		// In a session of its own: an interrupt at a terminal is for this process alone.
		const child = spawn("mkfifo", ["-m", "600", ...paths], { detached: true, stdio: "ignore" });
		const fail = (cause: unknown): void =>
			reject(new LernieError("PLATFORM", "the command mkfifo (coreutils) did not make a pipe", {}, cause));
		child.once("error", fail);
		child.once("close", (code) => (code === 0 ? resolve() : fail(new Error(`exit code ${code}`))));
	});

const fill = async (): Promise<void> => {
	const directory = mkdtempSync(join(tmpdir(), "lernie-pipes-"));
	try {
		const paths = Array.from({ length: BATCH }, (_, index) => join(directory, String(index)));
		await makeFifos(paths);
		// Open both ways, a pipe outlives its name and its ends can be opened without waiting for each other.
		for (const path of paths) idle.push(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
	} finally {
		rmSync(directory, { recursive: true });
	}
};

/**
 * A pipe of the kernel for a child's output. Node's own "pipe" is a socket, and a program that opens `/dev/stdout` or
 * `/dev/stderr` by name fails on one (`echo … > /dev/stderr`, `tee /dev/stderr`). Node has no call that makes a pipe.
 */
export const openPipe = async (): Promise<Pipe> => {
	for (;;) {
		const both = idle.pop();
		if (both !== undefined) {
			const name = `/proc/self/fd/${both}`;
			const pipe = { read: openSync(name, constants.O_RDONLY), write: openSync(name, constants.O_WRONLY) };
			closeSync(both);
			return pipe;
		}
		filling ??= fill().finally(() => {
			filling = undefined;
		});
		await filling;
	}
};

/**
 * Reads a pipe to its end; the socket emits `close` then, or when it is destroyed, and owns the descriptor. Every chunk is
 * a view of one buffer that the next read overwrites: a flood would otherwise leave megabytes of garbage behind.
 */
export const readPipe = (fd: number, onChunk: (chunk: Buffer) => void): Socket => {
	const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
	const callback = (count: number): boolean => {
		onChunk(buffer.subarray(0, count));
		return true;
	};
	const socket = new Socket({ fd, readable: true, writable: false, onread: { buffer, callback } });
	return socket.on("error", () => undefined).resume();
};

/** As many reads as empty the largest pipe there is by default; a writer that fills faster is not waited for. */
const READS_AT_ONCE = 16;

/**
 * Hands over what lies in the pipe at this moment, without waiting. `socket` is what `readPipe` made of `fd`: it owns the
 * descriptor, and has made it one that does not block. A chunk is only valid during `onChunk`.
 */
export const readAvailable = (socket: Socket, fd: number, onChunk: (chunk: Buffer) => void): void => {
	const buffer = Buffer.allocUnsafe(READ_BYTES);
	for (let reads = 0; reads < READS_AT_ONCE && !socket.destroyed; reads += 1) {
		let count: number;
		try {
			count = readSync(fd, buffer);
		} catch (thrown) {
			if (errnoOf(thrown) === "EAGAIN") return;
			throw thrown;
		}
		if (count === 0) return;
		onChunk(buffer.subarray(0, count));
	}
};

/**
 * A descriptor that reads `bytes` and then EOF: an unlinked file. A pipe would do, but once its writer is gone, opening it
 * by name waits for another one.
 */
export const openBytes = (bytes: string | Uint8Array): number => {
	const path = join(tmpdir(), `lernie-stdin-${randomBytes(12).toString("hex")}`);
	writeFileSync(path, bytes, { flag: "wx", mode: 0o600 });
	try {
		return openSync(path, constants.O_RDONLY);
	} finally {
		unlinkSync(path);
	}
};
