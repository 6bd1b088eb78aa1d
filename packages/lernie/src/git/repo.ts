import { resolve as absolute, join } from "node:path";
import { LernieError } from "@lernie/contract";
import { createObjectReader } from "./cat-file.ts";
import { eachFile, isOid, parseCommit, parseTree } from "./codec.ts";
import { createLru } from "./lru.ts";
import { createBatch, type ObjectBatch, type ObjectStore } from "./objects.ts";
import { createRefReader, listRefs } from "./refs.ts";
import type { Commit, ObjectStats, Oid, RawObject, RefOp, TransactResult, TreeEntry } from "./types.ts";
import { createRefWriter } from "./update-ref.ts";

export { initRepo } from "./init-repo.ts";

/**
 * The record, `repo.git` (DESIGN D5). Objects are immutable and cached by id; refs are read from the disk each time.
 * Faults are LernieError GIT or DISK; a missing object is GIT_OBJECT_MISSING.
 */
export interface Repo {
	readonly gitDir: string;
	read(oid: Oid): Promise<RawObject>;
	blob(oid: Oid): Promise<Buffer>;
	/** Acts on many blobs in the order asked for, at the cost of one question; one at a time is in memory. */
	eachBlob(oids: readonly Oid[], act: (body: Buffer, at: number) => void): Promise<void>;
	tree(oid: Oid): Promise<readonly TreeEntry[]>;
	/** Acts on each file of a tree with its name as text; quicker than `tree` where the tree is read once. */
	eachFile(oid: Oid, act: (name: string, oid: Oid) => void): Promise<void>;
	commit(oid: Oid): Promise<Commit>;
	/** The object of a full ref name, loose or packed; undefined when there is no such ref. */
	resolve(ref: string): Promise<Oid | undefined>;
	/** Refs whose name begins with `prefix`, sorted; also those whose object is not there. */
	list(prefix: string): Promise<readonly { ref: string; oid: Oid }[]>;
	/** The entry at a slash-separated path of a commit's tree. */
	find(commit: Oid, path: string): Promise<TreeEntry | undefined>;
	batch(): ObjectBatch;
	/**
	 * All or nothing: every ref is locked and compared before the first is moved, and each is synced (D6, CONTRACTS §7). A ref may occur
	 * once. `ok: false` for a failed compare, an existing ref or a lock. Throws LernieError GIT otherwise; `data.outcome` is
	 * `unknown` when git died between its first and last move.
	 */
	transact(ops: readonly RefOp[]): Promise<TransactResult>;
	/** What was written since the repository was opened. */
	stats(): ObjectStats;
	/** Ends the kept-alive children. Idempotent. They also end by themselves when this process does. */
	close(): Promise<void>;
}

const TREE_ENTRIES = 65_536;
const COMMIT_BYTES = 4 * 1024 * 1024;
const KNOWN_OBJECTS = 65_536;
/** Goals, names and descriptions are read for every request; transcripts are kept by whoever folds them. */
const SMALL_BLOB_BYTES = 8 * 1024;
const BLOB_BYTES = 1024 * 1024;

const missing = (oid: Oid): LernieError =>
	new LernieError("GIT_OBJECT_MISSING", `object ${oid} is not in the record`, { oid });

const wrongType = (oid: Oid, type: string, wanted: string): LernieError =>
	new LernieError("GIT", `object ${oid} is a ${type}, not a ${wanted}`, { oid, type });

/** Opens a repository; nothing is started or read before it is needed. */
export const openRepo = (gitDir: string): Repo => {
	const root = absolute(gitDir);
	const reader = createObjectReader(root);
	const writer = createRefWriter(root);
	const resolveRef = createRefReader(root);
	const trees = createLru<readonly TreeEntry[]>(TREE_ENTRIES, (entries) => entries.length + 1);
	const commits = createLru<Commit>(COMMIT_BYTES, ({ message }) => message.length + 256);
	const known = createLru<true>(KNOWN_OBJECTS, () => 1);
	const blobs = createLru<Buffer>(BLOB_BYTES, (body) => body.length + 64);
	let written: ObjectStats = { objects: 0, bytes: 0, fsyncs: 0 };

	const read = async (oid: Oid): Promise<RawObject> => {
		const found = isOid(oid) ? await reader.contents(oid) : undefined;
		if (found === undefined) throw missing(oid);
		known.set(oid, true);
		return found;
	};
	const readAs = async (oid: Oid, wanted: string): Promise<Buffer> => {
		const { type, body } = await read(oid);
		if (type !== wanted) throw wrongType(oid, type, wanted);
		return body;
	};
	const tree = async (oid: Oid): Promise<readonly TreeEntry[]> => {
		const cached = trees.get(oid);
		if (cached !== undefined) return cached;
		const entries = parseTree(oid, await readAs(oid, "tree"));
		trees.set(oid, entries);
		return entries;
	};
	const commit = async (oid: Oid): Promise<Commit> => {
		const cached = commits.get(oid);
		if (cached !== undefined) return cached;
		const parsed = parseCommit(oid, await readAs(oid, "commit"));
		commits.set(oid, parsed);
		return parsed;
	};
	const blob = async (oid: Oid): Promise<Buffer> => {
		const cached = blobs.get(oid);
		if (cached !== undefined) return cached;
		const body = await readAs(oid, "blob");
		if (body.length <= SMALL_BLOB_BYTES) blobs.set(oid, body);
		return body;
	};
	const eachBlob: Repo["eachBlob"] = (oids, act) =>
		reader.each(oids, (found, at) => {
			const oid = oids[at] ?? "";
			if (found === undefined) throw missing(oid);
			if (found.type !== "blob") throw wrongType(oid, found.type, "blob");
			act(found.body, at);
		});
	const find = async (from: Oid, path: string): Promise<TreeEntry | undefined> => {
		let { tree: at } = await commit(from);
		let entry: TreeEntry | undefined;
		for (const part of path.split("/")) {
			if (entry !== undefined && entry.mode !== "40000") return undefined;
			const name = Buffer.from(part, "utf8");
			entry = (await tree(at)).find((candidate) => candidate.name.equals(name));
			if (entry === undefined) return undefined;
			at = entry.oid;
		}
		return entry;
	};
	const store: ObjectStore = {
		objects: join(root, "objects"),
		isKnown: (oid) => known.get(oid) === true,
		remember: (oid) => known.set(oid, true),
		learnTree: (oid, entries) => trees.set(oid, entries),
		learnCommit: (oid, body) => commits.set(oid, parseCommit(oid, body)),
		packLists: new Map(),
		count: ({ objects, bytes, fsyncs }) => {
			written = {
				objects: written.objects + objects,
				bytes: written.bytes + bytes,
				fsyncs: written.fsyncs + fsyncs,
			};
		},
	};

	return {
		gitDir: root,
		read,
		blob,
		eachBlob,
		tree,
		eachFile: async (oid, act) => eachFile(oid, await readAs(oid, "tree"), act),
		commit,
		resolve: async (ref) => resolveRef(ref),
		list: (prefix) => listRefs(root, prefix),
		find,
		batch: () => createBatch(store),
		transact: (ops) => writer.transact(ops),
		stats: () => written,
		close: async () => {
			await Promise.all([reader.close(), writer.close()]);
		},
	};
};
