import { type Entry, LernieError, percentEncode, readEntry, strictUtf8 } from "@lernie/contract";
import type { ObjectBatch } from "../git/objects.ts";
import type { Repo } from "../git/repo.ts";
import type { Oid, TreeEntry } from "../git/types.ts";

export type Side = "user" | "assistant" | "tool";

/** One transcript file as its name tells (`spec/core.md` §9.1). */
export interface EntryRef {
	readonly number: number;
	readonly origin: string;
	readonly side: Side;
	readonly oid: Oid;
}

/** Entries from this number on lie in one directory a block of as many (D23). */
const BLOCK = 256;

const ENTRY = /^(\d{3,})-(.*)\.(md|json)$/s;

export const entryNumber = (number: number): string => String(number).padStart(3, "0");

/** The file name of an entry; a model id is percent-encoded (D1). */
export const entryName = (number: number, side: Side, origin: string): string => {
	if (side === "user") return `${entryNumber(number)}-${origin}.md`;
	return `${entryNumber(number)}-${side === "tool" ? "tool" : percentEncode(origin)}.json`;
};

/** The directory an entry lies in below `messages/`, or undefined where it lies flat. */
const entryBlock = (number: number): string | undefined =>
	number < BLOCK ? undefined : String(Math.floor(number / BLOCK) * BLOCK);

const readName = (entry: TreeEntry): EntryRef | undefined => {
	if (entry.mode === "40000") return undefined;
	const match = ENTRY.exec(entry.name.toString("utf8"));
	if (match === null) return undefined;
	const [, digits = "", origin = "", extension = ""] = match;
	const side = extension === "md" ? "user" : origin === "tool" ? "tool" : "assistant";
	return { number: Number(digits), origin, side, oid: entry.oid };
};

const byNumber = (a: EntryRef, b: EntryRef): number => a.number - b.number;

/** Entries of a tree stay the same objects while it grows, so a name is read once; null is no transcript entry. */
const readNames = new WeakMap<TreeEntry, EntryRef | null>();

const refOf = (entry: TreeEntry): EntryRef | null => {
	const known = readNames.get(entry);
	if (known !== undefined) return known;
	const ref = readName(entry) ?? null;
	readNames.set(entry, ref);
	return ref;
};

const entriesOf = (tree: readonly TreeEntry[]): readonly EntryRef[] =>
	tree.flatMap((entry) => refOf(entry) ?? []).sort(byNumber);

/** One run of entries that changes only at its end: the flat ones, or one block's. `key` changes when its entries do. */
export interface EntryRun {
	readonly key: string;
	readonly entries: readonly EntryRef[];
}

interface MessagesTree {
	readonly flat: readonly EntryRef[];
	/** The directories of the blocks, oldest first. */
	readonly blocks: readonly TreeEntry[];
}

const blockNumber = ({ name }: TreeEntry): number => Number(name.toString("latin1"));

const readMessagesTree = async (repo: Repo, tip: Oid): Promise<MessagesTree> => {
	const messages = await repo.find(tip, "messages");
	if (messages === undefined) return { flat: [], blocks: [] };
	const tree = await repo.tree(messages.oid);
	const blocks = tree
		.filter((entry) => entry.mode === "40000" && /^\d+$/.test(entry.name.toString("latin1")))
		.sort((a, b) => blockNumber(a) - blockNumber(b));
	return { flat: entriesOf(tree), blocks };
};

/** The transcript at a commit, in order, run by run (D23). */
export const listRuns = async (repo: Repo, tip: Oid): Promise<readonly EntryRun[]> => {
	const { flat, blocks } = await readMessagesTree(repo, tip);
	const runs = await Promise.all(
		blocks.map(async (block) => ({ key: block.oid, entries: entriesOf(await repo.tree(block.oid)) })),
	);
	return [{ key: flat.map((entry) => entry.oid).join(), entries: flat }, ...runs].filter(
		(run) => run.entries.length > 0,
	);
};

/** The newest entries: the last one of a side and what follows it, or all where there is none. Reads the end, not the whole. */
export const listSince = async (repo: Repo, tip: Oid, side: Side): Promise<readonly EntryRef[]> => {
	const { flat, blocks } = await readMessagesTree(repo, tip);
	let entries: readonly EntryRef[] = [];
	const found = (): number => entries.findLastIndex((entry) => entry.side === side);
	for (const block of blocks.toReversed()) {
		entries = [...entriesOf(await repo.tree(block.oid)), ...entries];
		if (found() !== -1) return entries.slice(found());
	}
	entries = [...flat, ...entries];
	return entries.slice(Math.max(found(), 0));
};

export const listEntries = async (repo: Repo, tip: Oid): Promise<readonly EntryRef[]> =>
	(await listRuns(repo, tip)).flatMap((run) => run.entries);

/** The text of a message entry; bytes that are not UTF-8 are replaced. */
export const readMessage = async (repo: Repo, ref: EntryRef): Promise<string> =>
	(await repo.blob(ref.oid)).toString("utf8");

/** The blocks in the bytes of a `.json` entry. Throws `TRANSCRIPT` naming the file where it is none. */
export const parseBlocks = (ref: EntryRef, bytes: Buffer): Entry => {
	const label = `messages/${entryNumber(ref.number)}-${ref.origin}.json`;
	const text = strictUtf8(bytes);
	if (text === undefined) throw new LernieError("TRANSCRIPT", `${label} is not UTF-8`, { file: label });
	return readEntry(text, label);
};

/** A `.json` entry. Throws `TRANSCRIPT` naming the file where it is none. */
export const readBlocks = async (repo: Repo, ref: EntryRef): Promise<Entry> =>
	parseBlocks(ref, await repo.blob(ref.oid));

const replaceEntry = (tree: readonly TreeEntry[], entry: TreeEntry): readonly TreeEntry[] => [
	...tree.filter((other) => !other.name.equals(entry.name)),
	entry,
];

/** Adds one file to the tree of `messages/` and returns the new tree. Never replaces an entry that is there. */
export const addEntry = async (
	repo: Repo,
	batch: ObjectBatch,
	messages: Oid | undefined,
	entry: { readonly number: number; readonly name: string; readonly blob: Oid },
): Promise<Oid> => {
	const tree = messages === undefined ? [] : await repo.tree(messages);
	const file: TreeEntry = { mode: "100644", name: Buffer.from(entry.name), oid: entry.blob };
	const block = entryBlock(entry.number);
	if (block === undefined) return batch.tree([...tree, file]);
	const name = Buffer.from(block);
	const existing = tree.find((other) => other.name.equals(name));
	const inner = existing === undefined ? [] : await repo.tree(existing.oid);
	return batch.tree(replaceEntry(tree, { mode: "40000", name, oid: batch.tree([...inner, file]) }));
};
