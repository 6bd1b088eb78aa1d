/** Halts a stream and lets it go on, for a reader that can fall behind; a child that writes more then waits. */
export interface Flow {
	pause(): void;
	resume(): void;
}

/**
 * Takes one output stream of a child. `write` and `end` must not throw: a sink keeps its own fault and goes on draining,
 * because a child whose pipe is not read never ends. A chunk is only valid during `write`: what is kept is copied. `end`
 * is called once, after the last `write`, as soon as nobody can write to the stream any more.
 */
export interface OutputSink {
	write(chunk: Buffer): void;
	end(): void;
	/** Called before the first `write`. Who pauses the flow sees to it that it goes on, or the child is never done with. */
	attach?(flow: Flow): void;
}

/** A sink that keeps the first `maxBytes` and drains the rest. */
export interface LimitSink extends OutputSink {
	bytes(): Buffer;
	/** True once the stream was longer than `maxBytes`; what was kept is then not the answer. */
	overflowed(): boolean;
}

/** For streams that are small by contract: a control's answer and its diagnostics (CONTRACTS §3). */
export const createLimit = ({ maxBytes }: { readonly maxBytes: number }): LimitSink => {
	const kept: Buffer[] = [];
	let size = 0;
	let overflow = false;
	return {
		write(chunk) {
			const part = chunk.subarray(0, maxBytes - size);
			if (part.length < chunk.length) overflow = true;
			if (part.length === 0) return;
			kept.push(Buffer.from(part));
			size += part.length;
		},
		end() {},
		bytes: () => Buffer.concat(kept),
		overflowed: () => overflow,
	};
};

/** A sink that keeps the last `maxBytes`. */
export interface TailSink extends OutputSink {
	bytes(): Buffer;
}

/** For the diagnostics of a program that stays: what it wrote last is what tells why it failed. */
export const createTail = ({ maxBytes }: { readonly maxBytes: number }): TailSink => {
	let kept = Buffer.alloc(0);
	return {
		write(chunk) {
			const part = chunk.subarray(Math.max(0, chunk.length - maxBytes));
			kept = Buffer.concat([kept.subarray(Math.max(0, kept.length + part.length - maxBytes)), part]);
		},
		end() {},
		bytes: () => kept,
	};
};
