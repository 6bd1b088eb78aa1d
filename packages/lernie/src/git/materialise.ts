import { closeSync, mkdirSync, openSync, readdirSync, symlinkSync } from "node:fs";
import { LernieError, messageOf } from "@lernie/contract";
import { checkEntry } from "./codec.ts";
import { writeAll } from "./loose.ts";
import type { Repo } from "./repo.ts";
import type { TreeEntry } from "./types.ts";

const SLASH = Buffer.from("/");
// Bounds what is in memory at once; a blob may be 100 MiB.
const WIDTH = 4;

const writeNew = (path: Buffer, body: Buffer, mode: number): void => {
	const fd = openSync(path, "wx", mode);
	try {
		writeAll(fd, body);
	} finally {
		closeSync(fd);
	}
};

const writeEntry = async (repo: Repo, entry: TreeEntry, path: Buffer): Promise<void> => {
	switch (entry.mode) {
		case "40000":
			mkdirSync(path);
			return writeEntries(repo, await repo.tree(entry.oid), path);
		case "120000":
			return symlinkSync(await repo.blob(entry.oid), path);
		case "100755":
			return writeNew(path, await repo.blob(entry.oid), 0o777);
		case "100644":
			return writeNew(path, await repo.blob(entry.oid), 0o666);
		default:
			return entry.mode satisfies never;
	}
};

const writeEntries = async (repo: Repo, entries: readonly TreeEntry[], dir: Buffer): Promise<void> => {
	for (const entry of entries) checkEntry(entry);
	const pathOf = ({ name }: TreeEntry): Buffer => Buffer.concat([dir, SLASH, name]);
	const files = entries.filter(({ mode }) => mode !== "40000");
	for (let at = 0; at < files.length; at += WIDTH) {
		await Promise.all(files.slice(at, at + WIDTH).map((entry) => writeEntry(repo, entry, pathOf(entry))));
	}
	for (const entry of entries) if (entry.mode === "40000") await writeEntry(repo, entry, pathOf(entry));
};

const makeEmpty = (dir: string): void => {
	mkdirSync(dir, { recursive: true });
	if (readdirSync(dir).length > 0) throw new LernieError("DISK", `${dir} is not empty`, { dir });
};

/**
 * Writes entries and all below them into a directory that is new or empty: bytes, raw names, the owner's exec bit, links (D5).
 * Nothing is synced: the record is what lasts. Throws LernieError DISK, or GIT for a name that git refuses; what was written
 * until then stays.
 */
export const materialise = async (repo: Repo, entries: readonly TreeEntry[], dir: string): Promise<void> => {
	try {
		makeEmpty(dir);
		await writeEntries(repo, entries, Buffer.from(dir));
	} catch (error) {
		if (error instanceof LernieError) throw error;
		throw new LernieError("DISK", `${dir} cannot be written: ${messageOf(error)}`, { dir }, error);
	}
};
