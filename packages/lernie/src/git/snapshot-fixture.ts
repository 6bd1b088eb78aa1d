import { execFileSync } from "node:child_process";
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Fixture } from "./fixture.ts";
import type { ObjectBatch } from "./objects.ts";
import { createSnapshotCache, materialise, type Snapshot, type SnapshotCache, snapshotDirectory } from "./snapshot.ts";
import type { Oid } from "./types.ts";

const RESERVED = ["messages", "goal.md"];

export interface Taken extends Snapshot {
	readonly commit: Oid;
	readonly paths: readonly string[];
	readonly left: Readonly<Record<string, string>>;
	/** How many files were read. */
	readonly reads: number;
}

/** Snapshots the fixture's directory, commits it, and checks that git finds nothing wrong with the result. */
export const take = async (fixture: Fixture, cache: SnapshotCache = createSnapshotCache()): Promise<Taken> => {
	const { repo, dir, gitDir, git } = fixture;
	const real = repo.batch();
	let reads = 0;
	const batch: ObjectBatch = {
		...real,
		blobFile: (path, size) => {
			reads += 1;
			return real.blobFile(path, size);
		},
	};
	const snapshot = await snapshotDirectory({ dir, reserved: RESERVED, batch, cache, gitDir });
	const tree = batch.tree(snapshot.entries);
	const commit = batch.commit({ tree, parents: [], message: "snapshot", at: new Date(0) });
	await batch.flush();
	await repo.transact([{ kind: "set", ref: "refs/heads/snapshot", oid: commit }]);
	git("fsck", "--strict");
	const paths = git("ls-tree", "-r", "-z", "--name-only", commit).split("\0").filter(Boolean);
	const left = Object.fromEntries(snapshot.unrecorded.map(({ path, why }) => [path.toString("utf8"), why]));
	return { ...snapshot, commit, paths, left, reads };
};

export const put = (dir: string, files: Readonly<Record<string, string | Buffer>>): void => {
	for (const [name, body] of Object.entries(files)) {
		mkdirSync(dirname(join(dir, name)), { recursive: true });
		writeFileSync(join(dir, name), body);
	}
};

export const makePipe = (path: string): void => void execFileSync("sh", ["-c", `mkfifo '${path}'`]);

/** What a directory holds, by raw path: kind, exec bit and content. */
const contents = (dir: Buffer, prefix = ""): Record<string, string> => {
	const found: Record<string, string> = {};
	for (const name of readdirSync(dir, { encoding: "buffer" })) {
		const path = Buffer.concat([dir, Buffer.from("/"), name]);
		const key = prefix + name.toString("latin1");
		const stat = lstatSync(path);
		if (stat.isDirectory()) Object.assign(found, contents(path, `${key}/`));
		else if (stat.isSymbolicLink()) found[key] = `-> ${readlinkSync(path, { encoding: "buffer" }).toString("latin1")}`;
		else found[key] = `${stat.mode & 0o100 ? "x" : "-"} ${readFileSync(path).toString("latin1")}`;
	}
	return found;
};

export const expectSameDirectory = async ({ repo, dir, root }: Fixture, { entries }: Snapshot): Promise<void> => {
	const copy = join(root, "copy");
	await materialise(repo, entries, copy);
	expect(contents(Buffer.from(copy))).toEqual(contents(Buffer.from(dir)));
	rmSync(copy, { recursive: true });
};
