export interface Random {
	/** A whole number from 0 up to, not including, `below`. */
	readonly below: (below: number) => number;
	readonly pick: <T>(from: readonly T[]) => T;
}

/** Pseudo-random numbers that a seed repeats (mulberry32). */
export const createRandom = (seed: number): Random => {
	let state = seed >>> 0;
	const next = (): number => {
		state = (state + 0x6d2b79f5) >>> 0;
		let mixed = Math.imul(state ^ (state >>> 15), state | 1);
		mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
		return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
	};
	const below = (limit: number): number => Math.floor(next() * limit);
	return {
		below,
		pick: (from) => {
			const picked = from[below(from.length)];
			if (picked === undefined) throw new Error("there is nothing to pick from");
			return picked;
		},
	};
};

/** Another one each time, so that every run looks elsewhere; `LERNIE_TEST_SEED=<number>` repeats a run. */
export const testSeed = (): number => Number(process.env.LERNIE_TEST_SEED ?? Date.now() % 1_000_000);
