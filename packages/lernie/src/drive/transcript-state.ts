import { type Block, blockToJson, type Entry, type ToolUseBlock, type WireMessage } from "@lernie/contract";
import type { Repo } from "../git/repo.ts";
import type { Oid } from "../git/types.ts";
import { messageBody, PERSON } from "../workspace/inbox.ts";
import { type EntryRef, type EntryRun, listRuns, listSince, parseBlocks, type Side } from "../workspace/transcript.ts";
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

/** A state while it is folded: made and changed by one fold, seen by nobody else. */
type Draft = { -readonly [Key in keyof TranscriptState]: TranscriptState[Key] } & {
	readonly messages: WireMessage[];
	readonly usage: Record<string, number>;
};

const buryWindow = (draft: Draft): void => {
	const open = openCalls(draft.window);
	if (draft.buried !== undefined || open.length === 0 || draft.window === undefined) return;
	draft.buried = { entry: draft.window.entry, ids: open.map((call) => call.id) };
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

const addUsage = (sum: Record<string, number>, reported: string | undefined): void => {
	if (reported === undefined) return;
	for (const [key, value] of Object.entries(JSON.parse(reported) as Record<string, unknown>))
		if (typeof value === "number" && Number.isSafeInteger(value)) sum[key] = (sum[key] ?? 0) + value;
};

const addMessage = (draft: Draft, { ref }: ReadEntry): void => {
	buryWindow(draft);
	draft.window = undefined;
	if (ref.origin === PERSON) draft.modelCalls = 0;
};

const addResult = (draft: Draft, { blocks }: Entry): void => {
	if (draft.window === undefined) return;
	const ids = blocks.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []));
	draft.window = { ...draft.window, answered: new Set([...draft.window.answered, ...ids]) };
};

const addAnswer = (draft: Draft, number: number, entry: Entry): void => {
	buryWindow(draft);
	draft.window = windowOf(number, entry);
	for (const { name } of draft.window.calls)
		if (!draft.toolNames.includes(name)) draft.toolNames = [...draft.toolNames, name];
	draft.assistantEntries += 1;
	draft.modelCalls += 1;
	addUsage(draft.usage, entry.usage);
};

const newestOf = (state: TranscriptState, entries: readonly ReadEntry[]): TranscriptState["newest"] => {
	const user = entries.findLast((read) => "text" in read);
	const tool = entries.findLast(({ ref }) => ref.side === "tool");
	return {
		...state.newest,
		...(user !== undefined && "text" in user ? { user: messageBody(user.text) } : {}),
		...(tool !== undefined && "entry" in tool ? { toolResult: resultText(tool.entry) } : {}),
	};
};

/** Goes on from a state over the entries that follow it. Pure; the given state stays as it was. */
export const foldEntries = (state: TranscriptState, entries: readonly ReadEntry[]): TranscriptState => {
	// Names of counters come from a model: a sum has no prototype to find one of them in.
	const usage: Record<string, number> = Object.assign(Object.create(null), state.usage);
	const draft: Draft = { ...state, messages: [...state.messages], usage, newest: newestOf(state, entries) };
	for (const read of entries) {
		const { ref } = read;
		append(draft.messages, ref.side, read.content);
		draft.last = ref.number;
		draft.tail = ref.side;
		if ("text" in read) addMessage(draft, read);
		else if (ref.side === "tool") addResult(draft, read.entry);
		else addAnswer(draft, ref.number, read.entry);
	}
	return draft;
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

const readBody = (ref: EntryRef, bytes: Buffer): ReadEntry =>
	readEntryOf(ref, ref.side === "user" ? { text: bytes.toString("utf8") } : { entry: parseBlocks(ref, bytes) });

const readEntries = async (repo: Repo, refs: readonly EntryRef[]): Promise<readonly ReadEntry[]> => {
	const read: ReadEntry[] = [];
	await repo.eachBlob(
		refs.map(({ oid }) => oid),
		(bytes, at) => {
			const ref = refs[at];
			if (ref !== undefined) read.push(readBody(ref, bytes));
		},
	);
	return read;
};

const keyOf = ({ side, oid }: EntryRef): string => `${side} ${oid}`;

/** Reads the entries that `known` does not have yet and keeps them there. */
const readKnown = async (
	repo: Repo,
	known: Map<string, ReadBody>,
	refs: readonly EntryRef[],
): Promise<readonly ReadEntry[]> => {
	const fresh = await readEntries(
		repo,
		refs.filter((ref) => !known.has(keyOf(ref))),
	);
	for (const { ref, ...body } of fresh) known.set(keyOf(ref), body);
	return refs.flatMap((ref) => {
		const body = known.get(keyOf(ref));
		return body === undefined ? [] : [{ ref, ...body }];
	});
};

/** Folds closed runs one after the other; what one of them holds is let go of with it. */
const foldRuns = async (repo: Repo, from: TranscriptState, runs: readonly EntryRun[]): Promise<TranscriptState> => {
	const begin = async (run: EntryRun | undefined): Promise<readonly ReadEntry[]> =>
		run === undefined ? [] : readEntries(repo, await run.entries());
	let state = from;
	let next = begin(runs[0]);
	for (let at = 0; at < runs.length; at += 1) {
		const entries = await next;
		// git reads the next run while this one is folded.
		next = begin(runs[at + 1]);
		// It is waited for one round later; until then a failure is nobody's.
		next.catch(() => undefined);
		state = foldEntries(state, entries);
	}
	return state;
};

/** The transcript's state at a commit. Costs what changed since the cache last saw it, not what the transcript holds (D23). */
export const readTranscript = async (repo: Repo, tip: Oid, cache: TranscriptCache): Promise<TranscriptState> => {
	const runs = await listRuns(repo, tip);
	const closed = runs.slice(0, -1);
	const { keys } = cache.closed;
	const grown = keys.length <= closed.length && keys.every((key, index) => closed[index]?.key === key);
	const added = closed.slice(grown ? keys.length : 0);
	let { state } = grown ? cache.closed : { state: EMPTY };
	if (added.length > 0) {
		state = await foldRuns(repo, state, added);
		cache.read.clear();
	}
	// The last message may still take in what follows on its side; those before it are as they will stay.
	state = { ...state, settledMessages: Math.max(0, state.messages.length - 1) };
	if (!grown) cache.prefix = undefined;
	cache.closed = { keys: closed.map((run) => run.key), state };
	const open = runs.at(-1);
	return open === undefined ? state : foldEntries(state, await readKnown(repo, cache.read, await open.entries()));
};

/** The state of the newest entries alone, from the last assistant entry on or earlier: enough to see what is open. */
export const readTranscriptTail = async (repo: Repo, tip: Oid): Promise<TranscriptState> => {
	return foldEntries(EMPTY, await readEntries(repo, await listSince(repo, tip, "assistant")));
};
