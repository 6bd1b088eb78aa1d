/** A map that forgets what was not used for longest once the weights of its values exceed a bound. */
export interface Lru<Value> {
	get(key: string): Value | undefined;
	set(key: string, value: Value): void;
}

/**
 * `weigh` gives the weight of one value. Two generations instead of an order of use: evicting the oldest key of a `Map`
 * one by one walks over everything deleted before it.
 */
export const createLru = <Value>(bound: number, weigh: (value: Value) => number): Lru<Value> => {
	let young = new Map<string, Value>();
	let old = new Map<string, Value>();
	let weight = 0;
	const keep = (key: string, value: Value): void => {
		if (young.has(key)) weight -= weigh(value);
		young.set(key, value);
		weight += weigh(value);
		if (weight <= bound / 2) return;
		old = young;
		young = new Map();
		weight = 0;
	};
	return {
		get: (key) => {
			const current = young.get(key);
			if (current !== undefined) return current;
			const earlier = old.get(key);
			if (earlier !== undefined) keep(key, earlier);
			return earlier;
		},
		set: keep,
	};
};
