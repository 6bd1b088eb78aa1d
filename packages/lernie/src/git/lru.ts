/** A map that forgets what was used longest ago once the weights of its values exceed a bound. */
export interface Lru<Value> {
	get(key: string): Value | undefined;
	set(key: string, value: Value): void;
}

/** `weigh` gives the weight of one value; a value heavier than `bound` is not kept. */
export const createLru = <Value>(bound: number, weigh: (value: Value) => number): Lru<Value> => {
	const values = new Map<string, Value>();
	let weight = 0;
	const forget = (key: string): void => {
		const value = values.get(key);
		if (value === undefined) return;
		weight -= weigh(value);
		values.delete(key);
	};
	return {
		get: (key) => {
			const value = values.get(key);
			if (value === undefined) return undefined;
			values.delete(key);
			values.set(key, value);
			return value;
		},
		set: (key, value) => {
			forget(key);
			values.set(key, value);
			weight += weigh(value);
			for (const oldest of values.keys()) {
				if (weight <= bound) break;
				forget(oldest);
			}
		},
	};
};
