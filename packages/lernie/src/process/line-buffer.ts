const NEWLINE = 0x0a;

/** What the bytes of a stream come to, where each line of it must answer one question. */
export type LineReading =
	| { readonly kind: "line"; readonly bytes: Buffer }
	/** `bytes` were written when nothing was asked: before the question, or behind `line`, which would have been its answer. */
	| { readonly kind: "unasked"; readonly line?: Buffer; readonly bytes: Buffer }
	| { readonly kind: "too-long"; readonly bytes: Buffer };

export interface LineBuffer {
	/** Takes a copy of what was read, as far as it matters. */
	take(chunk: Buffer): void;
	/**
	 * What the bytes taken so far come to; undefined while they are none, or the beginning of an answer. `more` takes what
	 * can be read at this moment: what was written together with an answer is seen together with it, however it was cut on
	 * the way. After anything but a line there is nothing more to be read.
	 */
	read(asked: boolean, more: () => void): LineReading | undefined;
}

/** Reads lines of at most `lineBytes` without their newline. Nothing that came while nothing was asked becomes an answer. */
export const createLineBuffer = (lineBytes: number): LineBuffer => {
	// The longest answer, its newline, and one byte that must not be there.
	const held = Buffer.allocUnsafeSlow(lineBytes + 2);
	let used = 0;
	const copy = (from: number, to: number): Buffer => Buffer.from(held.subarray(from, to));
	return {
		take: (chunk) => {
			used += chunk.copy(held, used);
		},
		read: (asked, more) => {
			if (used === 0) return undefined;
			if (!asked) return { kind: "unasked", bytes: copy(0, used) };
			const end = held.subarray(0, used).indexOf(NEWLINE);
			if ((end === -1 ? used : end) > lineBytes) return { kind: "too-long", bytes: copy(0, lineBytes) };
			if (end === -1) return undefined;
			more();
			const line = copy(0, end);
			if (used > end + 1) return { kind: "unasked", line, bytes: copy(end + 1, used) };
			used = 0;
			return { kind: "line", bytes: line };
		},
	};
};
