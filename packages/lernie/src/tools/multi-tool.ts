import {
	callDirectory,
	compactJson,
	type JsonMember,
	type JsonNode,
	memberOf,
	parseJsonText,
	type ToolCall,
} from "@lernie/contract";

/** The tool that the drive answers itself: one call that carries several (`spec/tools.md` §11). */
export const MULTI_TOOL = "multi_tool";

/** One of the calls in an envelope; `input` is compact JSON text. */
interface Invocation {
	readonly name: string;
	readonly input: string;
}

export interface MultiCall {
	readonly invocations: readonly Invocation[];
	readonly onFailure: "abort" | "run_all";
	readonly execution: "serial" | "parallel";
}

export type MultiCallParse =
	| { readonly ok: true; readonly multi: MultiCall }
	/** What the model reads. */
	| { readonly ok: false; readonly text: string };

/** More in one call is not a batch any more but a program, which is what `bash` is for. */
const INVOCATIONS_MAX = 100;

/** How much of a key the model is told that it sent in vain. */
const KEY_SHOWN = 100;

const SHAPE =
	'{"invocations": [{"name": string, "input"?: any}], "on_failure"?: "abort" | "run_all", "execution"?: "serial" | "parallel"}';

const malformed = (why: string): MultiCallParse => ({
	ok: false,
	text: `multi_tool: malformed envelope: ${why}. Nothing ran. Expected ${SHAPE}`,
});

class Malformed extends Error {}

const membersOf = (node: JsonNode, what: string, known: readonly string[]): readonly JsonMember[] => {
	if (node.kind !== "object") throw new Malformed(`${what} is not an object`);
	const unknown = node.members.find(({ key }) => !known.includes(key));
	if (unknown !== undefined)
		throw new Malformed(`unknown key ${JSON.stringify(unknown.key.slice(0, KEY_SHOWN))} in ${what}`);
	return node.members;
};

const choice = <Word extends string>(node: JsonNode, key: string, words: readonly [Word, ...Word[]]): Word => {
	const given = memberOf(node, key);
	if (given === undefined) return words[0];
	const word = given.kind === "string" ? words.find((one) => one === given.value) : undefined;
	if (word === undefined) throw new Malformed(`"${key}" is not one of ${words.join(", ")}`);
	return word;
};

const invocation = (node: JsonNode, place: number, text: string): Invocation => {
	const what = `invocation ${place}`;
	membersOf(node, what, ["name", "input"]);
	const name = memberOf(node, "name");
	if (name?.kind !== "string") throw new Malformed(`${what} has no name`);
	const input = memberOf(node, "input");
	return { name: name.value, input: input === undefined ? "{}" : compactJson(text.slice(input.start, input.end)) };
};

/** Reads the input of a `multi_tool` call; every inner input keeps its own bytes (D16). */
export const parseMultiCall = (text: string): MultiCallParse => {
	const parsed = parseJsonText(text);
	if (!parsed.ok) return malformed(parsed.why);
	try {
		const { node } = parsed;
		membersOf(node, "the input", ["invocations", "on_failure", "execution"]);
		const list = memberOf(node, "invocations");
		if (list?.kind !== "array") throw new Malformed(`"invocations" is not a list`);
		if (list.items.length > INVOCATIONS_MAX) throw new Malformed(`more than ${INVOCATIONS_MAX} invocations`);
		return {
			ok: true,
			multi: {
				invocations: list.items.map((item, index) => invocation(item, index + 1, text)),
				onFailure: choice(node, "on_failure", ["abort", "run_all"]),
				execution: choice(node, "execution", ["serial", "parallel"]),
			},
		};
	} catch (thrown) {
		if (thrown instanceof Malformed) return malformed(thrown.message);
		throw thrown;
	}
};

/** The calls of an envelope, `<outer>-<k>` from 1. */
export const innerCalls = (outer: ToolCall, { invocations }: MultiCall): readonly ToolCall[] =>
	invocations.map(({ name, input }, index) => ({ id: `${outer.id}-${index + 1}`, name, input }));

/**
 * The record directory of an inner call: its own id's, unless a call of the same message has it (`spec/tools.md` §8.1).
 * `siblings` are the ids of that message's calls.
 */
export const innerDirectory = (id: string, siblings: readonly string[]): string => {
	const taken = new Set(siblings.map(callDirectory));
	let directory = callDirectory(id);
	while (taken.has(directory)) directory += ".m";
	return directory;
};

/** Every directory that a call can have records in: its own, or those of what it carries (CONTRACTS §7). */
export const recordDirectories = (call: ToolCall, siblings: readonly string[]): readonly string[] => {
	if (call.name !== MULTI_TOOL) return [callDirectory(call.id)];
	const parsed = parseMultiCall(call.input);
	return parsed.ok ? innerCalls(call, parsed.multi).map(({ id }) => innerDirectory(id, siblings)) : [];
};

export interface EntryResult {
	readonly name: string;
	readonly status: "ok" | "failed" | "declined" | "skipped";
	readonly text: string;
}

/** The one text that answers for all entries (`spec/tools.md` §11.6). */
export const aggregate = (entries: readonly EntryResult[]): { readonly text: string; readonly isError: boolean } => {
	const total = entries.length;
	const count = (...statuses: readonly EntryResult["status"][]): number =>
		entries.filter(({ status }) => statuses.includes(status)).length;
	const failed = count("failed", "declined");
	const tally = `${total} invocations: ${count("ok")} ok, ${failed} failed, ${count("skipped")} skipped\n`;
	const sections = entries.map(
		({ name, status, text }, index) => `\n=== [${index + 1}/${total}] ${name}: ${status} ===\n${text}\n`,
	);
	return { text: tally + sections.join(""), isError: failed > 0 };
};
