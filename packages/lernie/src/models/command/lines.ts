import type { Flow, OutputSink } from "../../process/sink.ts";
import { LONGEST_LINE_BYTES } from "../events.ts";
import type { ReceivedLine } from "../types.ts";

const [NEWLINE, RETURN, SPACE, TAB] = [0x0a, 0x0d, 0x20, 0x09];

const FIRST_BYTES = 4096;
/** A buffer that one long line made larger than this is not kept for the next. */
const KEPT_BYTES = 1024 * 1024;
const QUEUE_BYTES = 256 * 1024;
/** What a line costs beside its bytes, so that many short ones count. */
const LINE_BYTES = 128;

/** A sink that hands its stream on line by line, to one reader, as the lines come. */
export interface LineStream extends OutputSink, AsyncIterable<ReceivedLine> {
	/** Drops what nobody has read yet and whatever still comes; the child can go on writing. */
	discard(): void;
}

export interface LineLimits {
	/** Of a longer line this many bytes and one more are kept, by which it is known as too long. */
	readonly longestBytes?: number;
	/** With more than this unread, the child has to wait. */
	readonly queueBytes?: number;
}

const isBlank = (line: Buffer): boolean => line.every((byte) => byte === SPACE || byte === TAB || byte === RETURN);

interface Splitter {
	write(chunk: Buffer): void;
	end(): void;
}

/** Cuts chunks into lines without their `\n` or `\r\n`; blank lines are left out (`spec/tools.md` §18.1). */
const createSplitter = (longestBytes: number, onLine: (line: ReceivedLine) => void): Splitter => {
	// One growing block, not a list of chunks: a program that writes byte by byte would cost hundreds of bytes a byte.
	let held = Buffer.allocUnsafeSlow(FIRST_BYTES);
	let size = 0;
	let tooLong = false;
	const finish = (torn: boolean): void => {
		const bytes = Buffer.from(held.subarray(0, !tooLong && !torn && held[size - 1] === RETURN ? size - 1 : size));
		size = 0;
		if (held.length > KEPT_BYTES) held = Buffer.allocUnsafeSlow(FIRST_BYTES);
		if (!isBlank(bytes)) onLine({ bytes, torn });
	};
	const keep = (part: Buffer): void => {
		if (tooLong) return;
		const wanted = Math.min(size + part.length, longestBytes + 1);
		if (wanted > held.length) {
			const grown = Buffer.allocUnsafeSlow(Math.max(wanted, Math.min(held.length * 2, longestBytes + 1)));
			held.copy(grown, 0, 0, size);
			held = grown;
		}
		part.copy(held, size, 0, wanted - size);
		size = wanted;
		tooLong = size > longestBytes;
		// At once: its end may never come.
		if (tooLong) finish(false);
	};
	return {
		write(chunk) {
			let from = 0;
			for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
				keep(chunk.subarray(from, at));
				if (!tooLong) finish(false);
				tooLong = false;
				from = at + 1;
			}
			keep(chunk.subarray(from));
		},
		end() {
			if (size > 0) finish(true);
		},
	};
};

/**
 * The lines of a child's stream. Memory is bounded: a long line is cut, and a child whose lines are not read waits. The
 * iteration ends with the stream, after a last line that is torn where the stream ends without a line end.
 */
export const createLines = (limits: LineLimits = {}): LineStream => {
	const { longestBytes = LONGEST_LINE_BYTES, queueBytes = QUEUE_BYTES } = limits;
	let queue: ReceivedLine[] = [];
	let unread = 0;
	let open = true;
	let dropping = false;
	let flow: Flow | undefined;
	let wake = (): void => undefined;
	const splitter = createSplitter(longestBytes, (line) => {
		queue.push(line);
		unread += line.bytes.length + LINE_BYTES;
	});
	async function* lines(): AsyncGenerator<ReceivedLine> {
		while (!dropping) {
			const batch = queue;
			queue = [];
			for (const line of batch) {
				if (dropping) return;
				yield line;
				unread -= line.bytes.length + LINE_BYTES;
			}
			if (queue.length > 0) continue;
			if (!open) return;
			const { promise, resolve } = Promise.withResolvers<void>();
			wake = resolve;
			flow?.resume();
			await promise;
		}
	}
	return {
		attach(given) {
			flow = given;
		},
		write(chunk) {
			if (dropping) return;
			splitter.write(chunk);
			if (unread > queueBytes) flow?.pause();
			if (queue.length > 0) wake();
		},
		end() {
			if (!dropping) splitter.end();
			open = false;
			wake();
		},
		discard() {
			dropping = true;
			queue = [];
			flow?.resume();
			wake();
		},
		[Symbol.asyncIterator]: lines,
	};
};
