import { unlinkSync } from "node:fs";
import { errnoOf, LernieError, messageOf } from "@lernie/contract";
import { type CommitFields, encodeCommit, encodeTree, hashObject, objectHeader } from "./codec.ts";
import { compress, hasPacks, isLoose, moveIn, stage, syncStaged } from "./loose.ts";
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
	/** Asks git, which also looks into packs. */
	exists(oid: Oid): Promise<boolean>;
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
// Below this many unknown objects a question to git costs more than writing a duplicate of a packed one.
const ASK_FROM = 32;

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
	// A blob may have been named by a ref alone, and be gone since: git prunes what nothing names any more.
	const isStored = async (oid: Oid, type: string, ask: boolean): Promise<boolean> => {
		const known = type !== "blob" && store.isKnown(oid);
		const stored = known || isLoose(objects, oid) || (ask && (await store.exists(oid)));
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
	const write = async (): Promise<ObjectStats> => {
		const batch = [...pending.values()];
		const heard = listeners;
		const unknown: Pending[] = [];
		const ask = batch.length >= ASK_FROM && hasPacks(objects);
		// A staged object was looked for when it was staged.
		const stored = await Promise.all(
			batch.map(({ content, oid, type }) => "body" in content && isStored(oid, type, ask)),
		);
		for (const [at, item] of batch.entries()) if (stored[at] !== true) unknown.push(item);
		await inParallel(unknown, prepare);
		let bytes = 0;
		for (const { oid, content, learn } of unknown) {
			if (!("staged" in content)) continue;
			moveIn(objects, oid, content.staged);
			bytes += content.bytes;
			pending.delete(oid);
			store.remember(oid);
			learn?.();
		}
		for (const { oid } of batch) pending.delete(oid);
		listeners = listeners.filter((listener) => !heard.includes(listener));
		for (const listener of heard) listener();
		const stats = { objects: unknown.length, bytes, fsyncs: unknown.length };
		store.count(stats);
		return stats;
	};
	const addSmall = async (path: Buffer, size: number): Promise<Oid> => {
		const body = readSmall(path, size);
		const oid = hashObject("blob", body);
		if (pending.has(oid) || (await isStored(oid, "blob", hasPacks(objects)))) return oid;
		const compressed = await compress(objectHeader("blob", size), body);
		// Staged at once, so that a snapshot of many files does not hold them in memory.
		return addStaged({ oid, path: stage(objects, oid, compressed), bytes: compressed.length });
	};
	const addLarge = async (path: Buffer, size: number): Promise<Oid> => {
		const staged = await stageFile(objects, path, size);
		if (!(await isStored(staged.oid, "blob", hasPacks(objects)))) return addStaged(staged);
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
