import { closeSync } from "node:fs";
import { resolve } from "node:path";
import { LernieError, messageOf } from "@lernie/contract";
import { createIgnoreJudge } from "./ignore.ts";
import type { ObjectBatch } from "./objects.ts";
import { countFiles, namesIn, openDirectory } from "./place.ts";
import type { SnapshotCache } from "./snapshot-cache.ts";
import type { TreeEntry } from "./types.ts";
import { type Walk, walkPlace } from "./walk.ts";

export { materialise } from "./materialise.ts";
export { createSnapshotCache, type SnapshotCache } from "./snapshot-cache.ts";

export interface SnapshotOptions {
	readonly dir: string;
	/** Root entries that only the harness writes: left out, their files counted in `restored`. */
	readonly reserved: readonly string[];
	readonly batch: ObjectBatch;
	/** Of this directory and this repository. */
	readonly cache: SnapshotCache;
	readonly gitDir: string;
}

export interface Snapshot {
	/** Entries of the root's tree, not sorted; the trees below are in the batch. */
	readonly entries: readonly TreeEntry[];
	/** What could not be recorded, by raw path from the root, with a few words why. */
	readonly unrecorded: readonly { readonly path: Buffer; readonly why: string }[];
	readonly restored: number;
}

const openRoot = (dir: string): number => {
	try {
		return openDirectory(dir);
	} catch (error) {
		throw new LernieError("NO_AGENT_DIRECTORY", `${dir} cannot be read: ${messageOf(error)}`, { dir }, error);
	}
};

/**
 * Records a directory as it is, byte for byte over raw names, without following a link (DESIGN D5, CONTRACTS §7, §12). Its
 * `.gitignore` files decide as in git. The objects are durable once the batch is flushed. A file that cannot be recorded is
 * named and never fails the snapshot. Throws LernieError NO_AGENT_DIRECTORY, or DISK when the record cannot be written.
 */
export const snapshotDirectory = async (options: SnapshotOptions): Promise<Snapshot> => {
	const { reserved, batch, cache } = options;
	const dir = resolve(options.dir);
	const fd = openRoot(dir);
	const ignore = createIgnoreJudge(resolve(options.gitDir), dir);
	try {
		cache.begin();
		const walk: Walk = { batch, cache, ignore, unrecorded: [], lastBreath: Date.now() };
		const ours = new Set(reserved.map((name) => Buffer.from(name, "utf8").toString("latin1")));
		const names = namesIn(fd);
		const restored = names.filter((name) => ours.has(name)).reduce((sum, name) => sum + countFiles(fd, name), 0);
		const work = names.filter((name) => !ours.has(name));
		const { entries } = await walkPlace(walk, { fd, path: "", depth: 0 }, work);
		return { entries, unrecorded: walk.unrecorded, restored };
	} finally {
		closeSync(fd);
		await ignore.close();
	}
};
