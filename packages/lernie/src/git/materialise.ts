import { closeSync, mkdirSync, openSync, readdirSync, symlinkSync } from "node:fs";
import { LernieError, messageOf } from "@lernie/contract";
import { checkEntry } from "./codec.ts";
import { writeAll } from "./loose.ts";
import type { Repo } from "./repo.ts";
import type { Mode, TreeEntry } from "./types.ts";

const SLASH = Buffer.from("/");

const writeNew = (path: Buffer, body: Buffer, mode: number): void => {
	const fd = openSync(path, "wx", mode);
	try {
		writeAll(fd, body);
	} finally {
		closeSync(fd);
	}
};

const writeFile = (path: Buffer, mode: Exclude<Mode, "40000">, body: Buffer): void => {
	if (mode === "120000") symlinkSync(body, path);
	else writeNew(path, body, mode === "100755" ? 0o777 : 0o666);
};

const writeEntries = async (repo: Repo, entries: readonly TreeEntry[], dir: Buffer): Promise<void> => {
	for (const entry of entries) checkEntry(entry);
	const pathOf = ({ name }: TreeEntry): Buffer => Buffer.concat([dir, SLASH, name]);
	const files = entries.filter(({ mode }) => mode !== "40000");
	await repo.eachBlob(
		files.map(({ oid }) => oid),
		(body, at) => {
			const entry = files[at];
			if (entry !== undefined && entry.mode !== "40000") writeFile(pathOf(entry), entry.mode, body);
		},
	);
	for (const entry of entries) {
		if (entry.mode !== "40000") continue;
		const path = pathOf(entry);
		mkdirSync(path);
		await writeEntries(repo, await repo.tree(entry.oid), path);
	}
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
