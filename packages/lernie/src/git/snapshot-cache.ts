import type { Status } from "./place.ts";
import { isSettled } from "./settled.ts";
import type { Oid, TreeEntry } from "./types.ts";

export const isSameFile = (a: Status, b: Status): boolean =>
	a.ctimeNs === b.ctimeNs &&
	a.mtimeNs === b.mtimeNs &&
	a.ino === b.ino &&
	a.size === b.size &&
	a.mode === b.mode &&
	a.dev === b.dev;

/** A file whose content is known by its status, and is in the record. */
export interface KnownFile {
	readonly status: Status;
	readonly entry: TreeEntry;
}

/** What is known of one directory. Names are bytes as latin1; `files` goes with `names`. */
export interface KnownDirectory {
	names: readonly string[];
	files: (KnownFile | undefined)[];
	/** Its tree as it was recorded last. */
	tree: { readonly entries: readonly TreeEntry[]; readonly oid: Oid } | undefined;
	/** What git said of names in it, under the rules that `key` stands for. */
	ignored: { readonly key: string; readonly answers: Map<string, boolean> } | undefined;
}

/** What the directories of one agent were at the last snapshots; for one agent and one repository, in memory only. */
export interface SnapshotCache {
	/** Begins a snapshot: what neither this one nor the last one met is forgotten. */
	begin(): void;
	/** What is known of an open directory, and the place for what this snapshot learns of it. */
	directory(status: Status): { readonly last: KnownDirectory | undefined; readonly next: KnownDirectory };
	/** Verdicts on contents of `.gitmodules` and `.gitattributes`; `null` is a good one. */
	readonly verdicts: Map<string, string | null>;
}

/** What can be known of a file by its status; undefined where it may change unseen since `readMs` (racy: younger than 100 ms). */
export const knownFile = (status: Status, entry: TreeEntry, readMs: number): KnownFile | undefined =>
	isSettled(status.ctimeNs, readMs) ? { status, entry } : undefined;

/** Directories are known by their inodes: one that is moved keeps what is in it. */
export const createSnapshotCache = (): SnapshotCache => {
	let last = new Map<string, KnownDirectory>();
	let now = new Map<string, KnownDirectory>();
	return {
		begin: () => {
			last = now;
			now = new Map();
		},
		directory: ({ dev, ino }) => {
			const key = `${dev} ${ino}`;
			const known = last.get(key);
			const next: KnownDirectory = { names: [], files: [], tree: undefined, ignored: undefined };
			now.set(key, next);
			return { last: known, next };
		},
		verdicts: new Map(),
	};
};
