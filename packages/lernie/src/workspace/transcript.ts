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

const refOf = (name: string, oid: Oid): EntryRef | undefined => {
	const match = ENTRY.exec(name);
	if (match === null) return undefined;
	const [, digits = "", origin = "", extension = ""] = match;
	const side = extension === "md" ? "user" : origin === "tool" ? "tool" : "assistant";
	return { number: Number(digits), origin, side, oid };
};

const inOrder = (refs: EntryRef[]): readonly EntryRef[] => refs.sort((a, b) => a.number - b.number);

/** Entries of a tree stay the same objects while it grows, so a name is read once; null is no transcript entry. */
const readNames = new WeakMap<TreeEntry, EntryRef | null>();

const readName = (entry: TreeEntry): EntryRef | null => {
	const known = readNames.get(entry);
	if (known !== undefined) return known;
	const ref = entry.mode === "40000" ? null : (refOf(entry.name.toString("utf8"), entry.oid) ?? null);
	readNames.set(entry, ref);
	return ref;
};

const entriesOf = (tree: readonly TreeEntry[]): readonly EntryRef[] =>
	inOrder(tree.flatMap((entry) => readName(entry) ?? []));

/** One run of entries that changes only at its end: the flat ones, or one block's. `key` changes when its entries do. */
export interface EntryRun {
	readonly key: string;
	readonly entries: () => Promise<readonly EntryRef[]>;
}

/** The files of a block that is full, off the bytes of its tree: ten thousand names are read for one request, each once. */
const readBlock = async (repo: Repo, block: Oid): Promise<readonly EntryRef[]> => {
	const refs: EntryRef[] = [];
	await repo.eachFile(block, (name, oid) => {
		const ref = refOf(name, oid);
		if (ref !== undefined) refs.push(ref);
	});
	return inOrder(refs);
};

const blockNumber = ({ name }: TreeEntry): number => Number(name.toString("latin1"));

/** The transcript at a commit, in order, run by run (D23). What is in a block is read when it is asked for. */
export const listRuns = async (repo: Repo, tip: Oid): Promise<readonly EntryRun[]> => {
	const messages = await repo.find(tip, "messages");
	if (messages === undefined) return [];
	const tree = await repo.tree(messages.oid);
	const flat = entriesOf(tree);
	const blocks = tree
		.filter((entry) => entry.mode === "40000" && /^\d+$/.test(entry.name.toString("latin1")))
		.sort((a, b) => blockNumber(a) - blockNumber(b));
	const runs = blocks.map(({ oid }, at) => {
		const growing = at === blocks.length - 1;
		return { key: oid, entries: async () => (growing ? entriesOf(await repo.tree(oid)) : readBlock(repo, oid)) };
	});
	return [{ key: flat.map((entry) => entry.oid).join(), entries: () => Promise.resolve(flat) }, ...runs];
};

/** The newest entries: the last one of a side and what follows it, or all where there is none. Reads the end, not the whole. */
export const listSince = async (repo: Repo, tip: Oid, side: Side): Promise<readonly EntryRef[]> => {
	let entries: readonly EntryRef[] = [];
	for (const run of (await listRuns(repo, tip)).toReversed()) {
		entries = [...(await run.entries()), ...entries];
		const from = entries.findLastIndex((entry) => entry.side === side);
		if (from !== -1) return entries.slice(from);
	}
	return entries;
};

export const listEntries = async (repo: Repo, tip: Oid): Promise<readonly EntryRef[]> =>
	(await Promise.all((await listRuns(repo, tip)).map((run) => run.entries()))).flat();

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
