import { parseJsonObject } from "@lernie/contract";

export type StringInput<Key extends string> =
	| { readonly ok: true; readonly values: Readonly<Record<Key, string>> }
	| { readonly ok: false; readonly why: string };

/** Reads an input that must be an object with exactly these keys, each a string (`spec/tools.md` §10). */
export const readStrings = <Key extends string>(input: string, keys: readonly Key[]): StringInput<Key> => {
	const no = (why: string): StringInput<Key> => ({ ok: false, why: `invalid input JSON: ${why}` });
	const parsed = parseJsonObject(input);
	if (!parsed.ok) return no(parsed.why);
	const members = new Map(parsed.members.map(({ key, value }) => [key, value]));
	const values = new Map<Key, string>();
	for (const key of keys) {
		const value = members.get(key);
		if (value === undefined) return no(`the key ${JSON.stringify(key)} is missing`);
		if (value.kind !== "string") return no(`${JSON.stringify(key)} is not a string`);
		values.set(key, value.value);
		members.delete(key);
	}
	const [unknown] = members.keys();
	if (unknown !== undefined) return no(`unknown key ${JSON.stringify(unknown)}; the keys are ${keys.join(", ")}`);
	return { ok: true, values: Object.fromEntries(values) as Record<Key, string> };
};
