import { closeSync, fstatSync, openSync, readSync, writeFileSync } from "node:fs";
import type { OutputSink } from "./sink.ts";

const COLLECTOR_MEMORY_BYTES = 8 * 1024 * 1024;

const FIRST_BYTES = 64 * 1024;
const BLOCK_BYTES = 32;
const NEWLINE = 0x0a;

export interface CaptureLimits {
	readonly headBytes: number;
	readonly tailBytes: number;
}

/** A whole stream, or its two ends. Bytes only: text is made of them at the very end. */
export interface Captured {
	readonly bytes: number;
	/** Newlines, plus one for an unterminated last line (`spec/tools.md` §9.2). */
	readonly lines: number;
	/** The first `headBytes` of the stream. */
	readonly head: Buffer;
	/** Up to `tailBytes` of what follows the head: a stream within both limits is exactly head and tail. */
	readonly tail: Buffer;
	/** Absent once the stream was larger than the memory given to it; it then lies in `file`. */
	readonly whole: Buffer | undefined;
	readonly file: string | undefined;
	/** Why the stream could not be kept whole on disk; the child was drained all the same. */
	readonly fault: Error | undefined;
}

export interface CollectorOptions extends CaptureLimits {
	readonly memoryBytes?: number;
	/** Written only when the stream outgrows `memoryBytes`. Its directory must exist. */
	readonly spillPath: string;
}

export interface Collector extends OutputSink {
	/** What was captured. Call it after `end`. */
	captured(): Captured;
}

/** Byte by byte where lines are short, from one newline to the next where they are long: each alone is slow on the other. */
const countNewlines = (chunk: Buffer): number => {
	let count = 0;
	for (let at = 0; at < chunk.length; ) {
		const before = count;
		const blockEnd = Math.min(at + BLOCK_BYTES, chunk.length);
		for (; at < blockEnd; at += 1) if (chunk[at] === NEWLINE) count += 1;
		if (count > before) continue;
		at = chunk.indexOf(NEWLINE, at);
		if (at === -1) break;
	}
	return count;
};

const lineCount = (newlines: number, bytes: number, last: number | undefined): number =>
	newlines + (bytes > 0 && last !== NEWLINE ? 1 : 0);

/** A stream that is in memory already, cut as a collector cuts it. */
export const captureBuffer = (whole: Buffer, { headBytes, tailBytes }: CaptureLimits): Captured => {
	const head = whole.subarray(0, headBytes);
	return {
		bytes: whole.length,
		lines: lineCount(countNewlines(whole), whole.length, whole.at(-1)),
		head,
		tail: whole.subarray(Math.max(head.length, whole.length - tailBytes)),
		whole,
		file: undefined,
		fault: undefined,
	};
};

const readAt = (fd: number, position: number, length: number): Buffer => {
	const bytes = Buffer.alloc(length);
	let filled = 0;
	while (filled < length) {
		const count = readSync(fd, bytes, filled, length - filled, position + filled);
		if (count === 0) break;
		filled += count;
	}
	return bytes.subarray(0, filled);
};

/**
 * Keeps a stream whole: up to `memoryBytes` in memory, past that in `spillPath`, so that memory stays flat under any
 * flood (DESIGN D12). Writes are synchronous, which is also the back pressure on the child.
 */
export const createCollector = (options: CollectorOptions): Collector => {
	const { headBytes, tailBytes, spillPath, memoryBytes = COLLECTOR_MEMORY_BYTES } = options;
	// One growing block, not a list of chunks: a child that writes byte by byte would cost hundreds of bytes a byte.
	let memory = Buffer.allocUnsafeSlow(0);
	let bytes = 0;
	let newlines = 0;
	let last: number | undefined;
	let fd: number | undefined;
	let spilled = false;
	let ends: { head: Buffer; tail: Buffer } | undefined;
	let fault: Error | undefined;

	const guard = (act: () => void): void => {
		if (fault !== undefined) return;
		try {
			act();
		} catch (thrown) {
			fault = thrown instanceof Error ? thrown : new Error(String(thrown));
		}
	};
	const keep = (chunk: Buffer): void => {
		const needed = bytes + chunk.length;
		if (needed > memory.length) {
			const grown = Buffer.allocUnsafeSlow(Math.min(memoryBytes, Math.max(FIRST_BYTES, memory.length * 2, needed)));
			memory.copy(grown, 0, 0, bytes);
			memory = grown;
		}
		chunk.copy(memory, bytes);
	};
	const spill = (chunk: Buffer): void => {
		if (!spilled) {
			spilled = true;
			const held = memory.subarray(0, bytes);
			memory = Buffer.allocUnsafeSlow(0);
			guard(() => {
				fd = openSync(spillPath, "w+", 0o600);
				writeFileSync(fd, held);
			});
		}
		guard(() => {
			if (fd !== undefined) writeFileSync(fd, chunk);
		});
	};
	return {
		write(chunk) {
			if (chunk.length === 0) return;
			if (!spilled && bytes + chunk.length <= memoryBytes) keep(chunk);
			else spill(chunk);
			bytes += chunk.length;
			newlines += countNewlines(chunk);
			last = chunk.at(-1);
		},
		end() {
			const open = fd;
			if (open === undefined) return;
			fd = undefined;
			guard(() => {
				const size = fstatSync(open).size;
				const head = readAt(open, 0, Math.min(headBytes, size));
				const tailLength = Math.min(tailBytes, size - head.length);
				ends = { head, tail: readAt(open, size - tailLength, tailLength) };
			});
			// Closing is not guarded away: a descriptor must not outlive its stream, whatever failed before.
			try {
				closeSync(open);
			} catch (thrown) {
				fault ??= thrown instanceof Error ? thrown : new Error(String(thrown));
			}
		},
		captured() {
			if (!spilled) return captureBuffer(memory.subarray(0, bytes), { headBytes, tailBytes });
			return {
				bytes,
				lines: lineCount(newlines, bytes, last),
				head: ends?.head ?? Buffer.alloc(0),
				tail: ends?.tail ?? Buffer.alloc(0),
				whole: undefined,
				file: spillPath,
				fault,
			};
		},
	};
};
