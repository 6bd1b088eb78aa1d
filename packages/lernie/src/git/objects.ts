import { unlinkSync } from "node:fs";
import { errnoOf, LernieError, messageOf } from "@lernie/contract";
import { type CommitFields, encodeCommit, encodeTree, hashObject, objectHeader } from "./codec.ts";
import { compress, isLoose, moveIn, stage, syncStaged } from "./loose.ts";
import { openPackLists, type PackLists } from "./pack-lists.ts";
import { createPackWriter, PACK_LIMIT, type PackWriter } from "./pack-writer.ts";
import { readSmall, type StagedBlob, stageFile } from "./stream.ts";
import type { ObjectStats, Oid, TreeEntry } from "./types.ts";

/** Collects objects and writes them together (DESIGN D6, §10). Ids are known at once; objects are readable after `flush`. */
export interface ObjectBatch {
	blob(body: Buffer | string): Oid;
	/** Sorts by git's rule. Throws LernieError GIT for two entries of one name and for names that git refuses. */
	tree(entries: readonly TreeEntry[]): Oid;
	/** Author and committer are the harness. Throws LernieError GIT for a time before 1970 or a NUL in the message. */
	commit(fields: CommitFields): Oid;
	/**
	 * Adds a file of `size` bytes; above 1 MiB it is streamed. Follows links: the caller has opened what it means and passes
	 * `/proc/self/fd/<n>`. Throws LernieError DISK; `data.source` is true when the file is at fault (unreadable, another size).
	 */
	blobFile(path: Buffer, size: number): Promise<Oid>;
	/**
	 * Writes everything collected: each file is synced before its rename, and renamed after all it refers to. An object that
	 * lies loose already is not written again; one that lies in a pack may be. Throws LernieError DISK; may be called again.
	 */
	flush(): Promise<ObjectStats>;
	/** Runs once, after the next flush that succeeds. */
	afterFlush(act: () => void): void;
}

/** What the batches of one repository share. */
export interface ObjectStore {
	readonly objects: string;
	/** Whether an object is known to be in the store since this process wrote or saw it. */
	isKnown(oid: Oid): boolean;
	remember(oid: Oid): void;
	/** What was just written need not be read back. */
	learnTree(oid: Oid, entries: readonly TreeEntry[]): void;
	learnCommit(oid: Oid, body: Buffer): void;
	/** Lists of packs that were read, by name. */
	readonly packLists: Map<string, Buffer>;
	count(stats: ObjectStats): void;
}

interface Pending {
	readonly oid: Oid;
	readonly type: string;
	readonly learn?: () => void;
	/** The body, or the path of the compressed object where it is staged. */
	content: { readonly body: Buffer } | { readonly staged: string; readonly bytes: number };
}

const SMALL = 1024 * 1024;
const WIDTH = 16;
// To write a few objects again that lie in a pack costs less than reading what lies in packs.
const LOOK_FROM = 32;
// Most snapshots read few files, and then loose objects cost least; what is new beyond these goes into one pack.
const LOOSE_FILES = 64;

const NOTHING: ObjectStats = { objects: 0, bytes: 0, fsyncs: 0 };

const inParallel = async <Item>(items: readonly Item[], act: (item: Item) => Promise<void>): Promise<void> => {
	const queue = items.values();
	const worker = async (): Promise<void> => {
		for (const item of queue) await act(item);
	};
	// All have ended before the first failure is told, so that nothing of it runs into the next attempt.
	const ended = await Promise.allSettled(Array.from({ length: Math.min(WIDTH, items.length) }, worker));
	for (const end of ended) if (end.status === "rejected") throw end.reason;
};

const diskError = (error: unknown): LernieError =>
	error instanceof LernieError
		? error
		: new LernieError("DISK", `objects cannot be written: ${messageOf(error)}`, { errno: errnoOf(error) }, error);

export const createBatch = (store: ObjectStore): ObjectBatch => {
	const { objects } = store;
	// In the order of adding, in which nothing comes before what it refers to.
	const pending = new Map<Oid, Pending>();
	let listeners: (() => void)[] = [];
	let turn: Promise<unknown> = Promise.resolve();
	let files = 0;
	let room: Buffer | undefined;
	let pack: PackWriter | undefined;
	let lists: PackLists | undefined;

	const add = (type: string, body: Buffer, learn?: (oid: Oid) => void): Oid => {
		const oid = hashObject(type, body);
		if (pending.has(oid) || (type !== "blob" && store.isKnown(oid))) return oid;
		const content = { body };
		pending.set(oid, learn === undefined ? { oid, type, content } : { oid, type, content, learn: () => learn(oid) });
		return oid;
	};
	const addTree = (given: readonly TreeEntry[]): Oid => {
		const { entries, body } = encodeTree(given);
		return add("tree", body, (oid) => store.learnTree(oid, entries));
	};
	const addCommit = (fields: CommitFields): Oid => {
		const body = encodeCommit(fields);
		return add("commit", body, (oid) => store.learnCommit(oid, body));
	};
	// The same content may have been added while this one was staged.
	const addStaged = ({ oid, path, bytes }: StagedBlob): Oid => {
		if (pending.has(oid)) unlinkSync(path);
		else pending.set(oid, { oid, type: "blob", content: { staged: path, bytes } });
		return oid;
	};
	const scratch = (): Buffer => {
		room ??= Buffer.allocUnsafeSlow(SMALL + 1);
		return room;
	};
	const isPacked = (oid: Oid): boolean => {
		lists ??= openPackLists(objects, store.packLists);
		return lists.has(oid);
	};
	// A blob may have been named by a ref alone, and be gone since: git prunes what nothing names any more.
	const isStored = (oid: Oid, type: string, inPacks: boolean): boolean => {
		if (type !== "blob" && store.isKnown(oid)) return true;
		const stored = isLoose(objects, oid) || (inPacks && isPacked(oid));
		if (stored) store.remember(oid);
		return stored;
	};
	const prepare = async (item: Pending): Promise<void> => {
		const { content, oid, type } = item;
		if ("body" in content) {
			const compressed = await compress(objectHeader(type, content.body.length), content.body);
			item.content = { staged: stage(objects, oid, compressed), bytes: compressed.length };
		}
		if ("staged" in item.content) await syncStaged(item.content.staged);
	};
	/** The files of a large snapshot, as one pack; nothing refers to them before the trees that are written after it. */
	const writePack = (): ObjectStats => {
		if (pack === undefined) return NOTHING;
		const stats = pack.finish();
		pack = undefined;
		files = 0;
		return stats;
	};
	const write = async (): Promise<ObjectStats> => {
		const packed = writePack();
		const batch = [...pending.values()];
		const heard = listeners.length;
		const inPacks = batch.length >= LOOK_FROM;
		// A staged object was looked for when it was staged.
		const unknown = batch.filter(({ content, oid, type }) => !("body" in content) || !isStored(oid, type, inPacks));
		await inParallel(unknown, prepare);
		let { bytes } = packed;
		for (const { oid, content, learn } of unknown) {
			if (!("staged" in content)) continue;
			moveIn(objects, oid, content.staged);
			bytes += content.bytes;
			pending.delete(oid);
			store.remember(oid);
			learn?.();
		}
		for (const { oid } of batch) pending.delete(oid);
		const told = listeners.slice(0, heard);
		listeners = listeners.slice(heard);
		for (const listener of told) listener();
		const written = unknown.length;
		const stats = { objects: packed.objects + written, bytes, fsyncs: packed.fsyncs + written };
		store.count(stats);
		return stats;
	};
	const addSmall = async (path: Buffer, size: number): Promise<Oid> => {
		const packing = files >= LOOSE_FILES && (pack?.size() ?? 0) < PACK_LIMIT;
		files += 1;
		// Packed before anything else can be read into the same room.
		const body = readSmall(path, size, packing ? scratch() : undefined);
		const oid = hashObject("blob", body);
		if (pending.has(oid) || pack?.has(oid) === true || isStored(oid, "blob", true)) return oid;
		if (packing) {
			pack ??= createPackWriter(objects);
			pack.add(oid, body);
			return oid;
		}
		const compressed = await compress(objectHeader("blob", size), body);
		// Staged at once, so that a snapshot of many files does not hold them in memory.
		return addStaged({ oid, path: stage(objects, oid, compressed), bytes: compressed.length });
	};
	const addLarge = async (path: Buffer, size: number): Promise<Oid> => {
		const staged = await stageFile(objects, path, size);
		if (!isStored(staged.oid, "blob", true)) return addStaged(staged);
		unlinkSync(staged.path);
		return staged.oid;
	};

	return {
		blob: (body) => add("blob", typeof body === "string" ? Buffer.from(body, "utf8") : body),
		tree: addTree,
		commit: addCommit,
		blobFile: async (path, size) => {
			try {
				return await (size <= SMALL ? addSmall(path, size) : addLarge(path, size));
			} catch (error) {
				throw diskError(error);
			}
		},
		flush: async () => {
			const mine = turn.then(write);
			turn = mine.catch(() => undefined);
			try {
				return await mine;
			} catch (error) {
				throw diskError(error);
			}
		},
		afterFlush: (act) => {
			listeners.push(act);
		},
	};
};
