import type { BigIntStats } from "node:fs";
import { isSettled } from "./settled.ts";
import type { Oid } from "./types.ts";

/** What the files of one directory were at its last snapshots; for one directory and one repository. */
export interface SnapshotCache {
	/** Begins a snapshot: what neither this one nor the last one met is forgotten. */
	begin(): void;
	find(stat: BigIntStats): Oid | undefined;
	/** Keeps an object that is durable, unless the file may have changed unseen since `readMs`. */
	keep(stat: BigIntStats, oid: Oid, readMs: number): void;
	/** Verdicts on contents of `.gitmodules` and `.gitattributes`; `null` is a good one. */
	readonly verdicts: Map<string, string | null>;
}

/** A change to a file's content, type or mode changes this. */
export const identityOf = ({ dev, ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): string =>
	`${dev} ${ino} ${size} ${mode} ${mtimeNs} ${ctimeNs}`;

/** In memory only, keyed by dev, ino, size, mode, mtime and ctime. A file younger than 100 ms when read is not kept (racy). */
export const createSnapshotCache = (): SnapshotCache => {
	let last = new Map<string, Oid>();
	let now = new Map<string, Oid>();
	return {
		begin: () => {
			last = now;
			now = new Map();
		},
		find: (stat) => {
			const key = identityOf(stat);
			const oid = now.get(key) ?? last.get(key);
			if (oid !== undefined) now.set(key, oid);
			return oid;
		},
		keep: (stat, oid, readMs) => {
			if (isSettled(stat.ctimeNs, readMs)) now.set(identityOf(stat), oid);
		},
		verdicts: new Map(),
	};
};
