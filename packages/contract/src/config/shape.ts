import * as z from "zod";
import { nearestKey } from "./nearest.ts";

/** One thing that is wrong with a document. `why` is a phrase without a full stop at its end. */
export interface Problem {
	readonly path: readonly (string | number)[];
	readonly why: string;
	/** What to point at: the value, its key where the key itself is wrong, or the parent of a key that is not there. */
	readonly at: "value" | "key" | "parent";
}

export type Shaped<T> =
	| { readonly ok: true; readonly value: T }
	| { readonly ok: false; readonly problems: readonly [Problem, ...Problem[]] };

const unknownKey = (key: string, known: readonly string[], refused: Readonly<Record<string, string>>): string => {
	if (Object.hasOwn(refused, key)) return refused[key] ?? "";
	const nearest = nearestKey(key, known);
	return `unknown key${nearest === undefined ? "" : `. did you mean ${JSON.stringify(nearest)}?`}`;
};

/**
 * An object that takes the keys of `shape` and no other (DESIGN D17). `refused` names keys that get a reason of their
 * own instead of "unknown key".
 */
export const closed = <Shape extends z.core.$ZodLooseShape>(
	shape: Shape,
	refused: Readonly<Record<string, string>> = {},
): z.ZodObject<Shape, z.core.$strict> =>
	z.strictObject(shape, {
		// One line a key, in the order of `keys`: an issue carries nothing else of ours to `checkShape`.
		error: (issue) =>
			issue.code === "unrecognized_keys"
				? issue.keys.map((key) => unknownKey(key, Object.keys(shape), refused)).join("\n")
				: undefined,
	});

const NOUNS: Readonly<Record<string, string>> = {
	array: "a list",
	boolean: "true or false",
	int: "a whole number",
	null: "nothing",
	number: "a number",
	object: "a mapping",
	record: "a mapping",
	string: "a text",
};

const kindOf = (input: unknown): string => {
	if (input === null) return "nothing";
	if (Array.isArray(input)) return "a list";
	if (typeof input === "object") return "a mapping";
	return typeof input === "string" ? "a text" : String(input);
};

const alternatives = (values: readonly unknown[]): string => values.map((value) => JSON.stringify(value)).join(" or ");

/** Words for an issue whose schema brings none of its own. */
const describe: z.core.$ZodErrorMap = (issue) => {
	if (issue.input === undefined && (issue.code === "invalid_type" || issue.code === "invalid_value")) return "missing";
	switch (issue.code) {
		case "invalid_type":
			return `${NOUNS[issue.expected] ?? issue.expected} was expected, not ${kindOf(issue.input)}`;
		case "invalid_value":
			return `must be ${alternatives(issue.values)}, not ${JSON.stringify(issue.input)}`;
		case "too_small":
			if (issue.origin === "string" || issue.origin === "array") return "must not be empty";
			return `must be ${issue.inclusive === true ? "at least" : "more than"} ${issue.minimum}, not ${issue.input}`;
		case "too_big":
			return `must be at most ${issue.maximum}${typeof issue.input === "number" ? `, not ${issue.input}` : ""}`;
		default:
			return undefined;
	}
};

const problemsOf = (issue: z.core.$ZodIssue, value: unknown): readonly Problem[] => {
	const path = issue.path.map((part) => (typeof part === "number" ? part : String(part)));
	if (issue.code === "unrecognized_keys") {
		const whys = issue.message.split("\n");
		return issue.keys.map(
			(key, index): Problem => ({
				path: [...path, key],
				why: whys[index] ?? "unknown key",
				at: "key",
			}),
		);
	}
	if (issue.code === "invalid_key") return [{ path, why: issue.issues[0]?.message ?? issue.message, at: "key" }];
	if (issue.code === "invalid_union") {
		// An alternative that got past its own type is the one that was meant; else the union speaks for all of them.
		const meant = issue.errors.find((part) =>
			part.every((inner) => inner.path.length > 0 || inner.code === "unrecognized_keys"),
		);
		if (meant !== undefined)
			return meant.flatMap((inner) => problemsOf({ ...inner, path: [...issue.path, ...inner.path] }, value));
	}
	return [{ path, why: issue.message, at: isMissing(path, value) ? "parent" : "value" }];
};

const isMissing = (path: readonly (string | number)[], value: unknown): boolean => {
	let part = value;
	for (const key of path) {
		if (typeof part !== "object" || part === null || !Object.hasOwn(part, key)) return true;
		part = Reflect.get(part, key);
	}
	return false;
};

/** Checks a parsed document. Every problem is named; the caller orders them by their place in the text. */
export const checkShape = <T>(schema: z.ZodType<T>, value: unknown): Shaped<T> => {
	const parsed = schema.safeParse(value, { error: describe });
	if (parsed.success) return { ok: true, value: parsed.data };
	const [first, ...others] = parsed.error.issues.flatMap((issue) => problemsOf(issue, value));
	return { ok: false, problems: [first ?? { path: [], why: "not valid", at: "value" }, ...others] };
};

/** `roles.worker.tools[1]`; the whole document is the empty text. */
export const pathText = (path: readonly (string | number)[]): string =>
	path.map((part, index) => (typeof part === "number" ? `[${part}]` : `${index === 0 ? "" : "."}${part}`)).join("");
