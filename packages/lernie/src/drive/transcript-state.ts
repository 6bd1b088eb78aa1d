import { type Block, blockToJson, type Entry, type ToolUseBlock, type WireMessage } from "@lernie/contract";
import type { Repo } from "../git/repo.ts";
import type { Oid } from "../git/types.ts";
import { messageBody, PERSON } from "../workspace/inbox.ts";
import { type EntryRef, type EntryRun, listRuns, readBlocks, readMessage, type Side } from "../workspace/transcript.ts";
import type { RequestPrefix } from "./request-record.ts";

/** The calls of the last assistant entry and which of them have a result after it (D2). */
export interface OpenWindow {
	/** Number of the assistant entry. */
	readonly entry: number;
	readonly calls: readonly ToolUseBlock[];
	readonly unusable: Readonly<Record<string, string>>;
	readonly answered: ReadonlySet<string>;
}

/** Everything the driver derives from a transcript, in one pass over it. */
export interface TranscriptState {
	readonly last: number;
	readonly tail: Side | undefined;
	readonly messages: readonly WireMessage[];
	/** How many of the first messages later entries of this transcript can no longer change. */
	readonly settledMessages: number;
	readonly window: OpenWindow | undefined;
	/** Calls without a result that something else already follows: no request can be made from here (law 5). */
	readonly buried: { readonly entry: number; readonly ids: readonly string[] } | undefined;
	readonly toolNames: readonly string[];
	readonly assistantEntries: number;
	/** Model calls since the newest message of a person. */
	readonly modelCalls: number;
	readonly newest: { readonly toolResult?: string; readonly user?: string };
	/** Token counters summed over every model call that came back whole. */
	readonly usage: Readonly<Record<string, number>>;
}

export const EMPTY: TranscriptState = {
	last: 0,
	tail: undefined,
	messages: [],
	settledMessages: 0,
	window: undefined,
	buried: undefined,
	toolNames: [],
	assistantEntries: 0,
	modelCalls: 0,
	newest: {},
	usage: {},
};

/** What an entry's file holds: a message's text, or the blocks of a model's or a tool's. */
type ReadBody = {
	/** Its blocks as a request carries them. */
	readonly content: readonly string[];
} & ({ readonly text: string } | { readonly entry: Entry });

const bodyOf = (body: { readonly text: string } | { readonly entry: Entry }): ReadBody => ({
	content: "text" in body ? [JSON.stringify({ type: "text", text: body.text })] : body.entry.blocks.map(blockToJson),
	...body,
});

/** One entry with its content read. */
export type ReadEntry = { readonly ref: EntryRef } & ReadBody;

/** An entry as the fold takes it, from what its file holds. */
export const readEntryOf = (ref: EntryRef, body: { readonly text: string } | { readonly entry: Entry }): ReadEntry => ({
	ref,
	...bodyOf(body),
});

export const openCalls = (window: OpenWindow | undefined): readonly ToolUseBlock[] =>
	window === undefined ? [] : window.calls.filter((call) => !window.answered.has(call.id));

const isToolUse = (block: Block): block is ToolUseBlock => block.type === "tool_use";

/** The window an assistant entry opens, with nothing answered yet. */
export const windowOf = (entry: number, { blocks, unusable }: Pick<Entry, "blocks" | "unusable">): OpenWindow => ({
	entry,
	calls: blocks.filter(isToolUse),
	unusable,
	answered: new Set(),
});

const buriedBy = (state: TranscriptState): TranscriptState["buried"] => {
	const open = openCalls(state.window);
	if (state.buried !== undefined || open.length === 0 || state.window === undefined) return state.buried;
	return { entry: state.window.entry, ids: open.map((call) => call.id) };
};

const ROLE = { user: "user", assistant: "assistant", tool: "tool" } as const;

const append = (messages: WireMessage[], side: Side, content: readonly string[]): void => {
	const last = messages.at(-1);
	if (last?.role === ROLE[side])
		messages[messages.length - 1] = { role: last.role, content: [...last.content, ...content] };
	else messages.push({ role: ROLE[side], content });
};

const resultText = (entry: Entry): string =>
	entry.blocks
		.flatMap((block) => (block.type === "tool_result" ? block.content.map((part) => part.text) : []))
		.join("");

const addUsage = (sum: TranscriptState["usage"], reported: string | undefined): TranscriptState["usage"] => {
	if (reported === undefined) return sum;
	// Names come from a model: a sum has no prototype to find one of them in.
	const added: Record<string, number> = Object.assign(Object.create(null), sum);
	for (const [key, value] of Object.entries(JSON.parse(reported) as Record<string, unknown>))
		if (typeof value === "number" && Number.isSafeInteger(value)) added[key] = (added[key] ?? 0) + value;
	return added;
};

const step = (state: TranscriptState, read: ReadEntry): TranscriptState => {
	const { ref } = read;
	const base = { ...state, last: ref.number, tail: ref.side };
	if ("text" in read) {
		const modelCalls = ref.origin === PERSON ? 0 : state.modelCalls;
		const newest = { ...state.newest, user: messageBody(read.text) };
		return { ...base, buried: buriedBy(state), window: undefined, modelCalls, newest };
	}
	if (ref.side === "tool") {
		const ids = read.entry.blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []));
		const window = state.window && { ...state.window, answered: new Set([...state.window.answered, ...ids]) };
		return { ...base, window, newest: { ...state.newest, toolResult: resultText(read.entry) } };
	}
	const window = windowOf(ref.number, read.entry);
	const { calls } = window;
	const fresh = [...new Set(calls.map((call) => call.name))].filter((name) => !state.toolNames.includes(name));
	return {
		...base,
		buried: buriedBy(state),
		window,
		toolNames: fresh.length === 0 ? state.toolNames : [...state.toolNames, ...fresh],
		assistantEntries: state.assistantEntries + 1,
		modelCalls: state.modelCalls + 1,
		usage: addUsage(state.usage, read.entry.usage),
	};
};

/** Goes on from a state over the entries that follow it. Pure; the given state stays as it was. */
export const foldEntries = (state: TranscriptState, entries: readonly ReadEntry[]): TranscriptState => {
	const messages = [...state.messages];
	let folded = state;
	for (const read of entries) {
		append(messages, read.ref.side, read.content);
		folded = step(folded, read);
	}
	return { ...folded, messages };
};

/** Remembers closed runs by the objects they are made of: same objects, same state. */
export interface TranscriptCache {
	closed: { readonly keys: readonly string[]; readonly state: TranscriptState };
	/** By side and object; equal results share one. */
	readonly read: Map<string, ReadBody>;
	/** Digest of the front of a request that no longer changes; it grows with the closed runs. */
	prefix: RequestPrefix | undefined;
}

export const createTranscriptCache = (): TranscriptCache => ({
	closed: { keys: [], state: EMPTY },
	read: new Map(),
	prefix: undefined,
});

const readBody = async (repo: Repo, ref: EntryRef): Promise<ReadBody> =>
	bodyOf(ref.side === "user" ? { text: await readMessage(repo, ref) } : { entry: await readBlocks(repo, ref) });

const readRun = (repo: Repo, cache: TranscriptCache, run: EntryRun): Promise<readonly ReadEntry[]> =>
	Promise.all(
		run.entries.map(async (ref) => {
			const key = `${ref.side} ${ref.oid}`;
			const body = cache.read.get(key) ?? (await readBody(repo, ref));
			cache.read.set(key, body);
			return { ref, ...body };
		}),
	);

/** The transcript's state at a commit. Costs what changed since the cache last saw it, not what the transcript holds (D23). */
export const readTranscript = async (repo: Repo, tip: Oid, cache: TranscriptCache): Promise<TranscriptState> => {
	const runs = await listRuns(repo, tip);
	const closed = runs.slice(0, -1);
	const { keys } = cache.closed;
	const grown = keys.length <= closed.length && keys.every((key, index) => closed[index]?.key === key);
	let { state } = grown ? cache.closed : { state: EMPTY };
	for (const run of closed.slice(grown ? keys.length : 0)) {
		state = foldEntries(state, await readRun(repo, cache, run));
		cache.read.clear();
	}
	// The last message may still take in what follows on its side; those before it are as they will stay.
	state = { ...state, settledMessages: Math.max(0, state.messages.length - 1) };
	if (!grown) cache.prefix = undefined;
	cache.closed = { keys: closed.map((run) => run.key), state };
	const open = runs.at(-1);
	return open === undefined ? state : foldEntries(state, await readRun(repo, cache, open));
};

/** The state of the newest entries alone, from the last assistant entry on or earlier: enough to see what is open. */
export const readTranscriptTail = async (repo: Repo, tip: Oid): Promise<TranscriptState> => {
	const runs = await listRuns(repo, tip);
	const entries = runs.flatMap((run) => run.entries);
	const from = entries.findLastIndex((entry) => entry.side === "assistant");
	const run = { key: "", entries: from === -1 ? entries : entries.slice(from) };
	return foldEntries(EMPTY, await readRun(repo, createTranscriptCache(), run));
};
