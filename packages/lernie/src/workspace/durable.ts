import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync, unlinkSync, writeSync } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { syncDirectory } from "../git/sync.ts";

/** Creates a directory with its parents; each that is new is durable in its parent (D6). */
export const makeDirectory = (path: string): void => {
	const first = mkdirSync(path, { recursive: true });
	if (first === undefined) return;
	for (let at = path; ; at = dirname(at)) {
		syncDirectory(dirname(at));
		if (at === first || dirname(at) === at) return;
	}
};

/** Writes the file whole, or leaves none: what a full disk cut off would lie there for ever. */
const writeTemporary = (path: string, body: string | Uint8Array, synced: boolean): void => {
	const fd = openSync(path, "w", 0o644);
	let whole = false;
	try {
		const bytes = typeof body === "string" ? Buffer.from(body) : body;
		for (let at = 0; at < bytes.byteLength; ) at += writeSync(fd, bytes, at);
		if (synced) fsyncSync(fd);
		whole = true;
	} finally {
		closeSync(fd);
		if (!whole) rmSync(path, { force: true });
	}
};

/** Gives a written file its name, unless that is taken; the temporary one is gone either way. */
const place = (temporary: string, path: string): void => {
	try {
		linkSync(temporary, path);
	} finally {
		unlinkSync(temporary);
	}
};

/** Creates `path` with `body`, durable with its name. Throws `EEXIST` where it is there already; never replaces a file. */
export const createDurable = (path: string, temporary: string, body: string | Uint8Array): void => {
	writeTemporary(temporary, body, true);
	place(temporary, path);
	syncDirectory(dirname(path));
};

const sync = async (path: string): Promise<void> => {
	const file = await open(path, "r");
	try {
		await file.sync();
	} finally {
		await file.close();
	}
};

/**
 * Creates a file with the directories it lies in; all of it is durable when this resolves, and not before. The syncs run
 * side by side, which costs about one. Rejects with `EEXIST` where the file is there already.
 */
export const createDurableDeep = async (path: string, body: string): Promise<void> => {
	const made = mkdirSync(dirname(path), { recursive: true });
	const temporary = `${path}.tmp`;
	writeTemporary(temporary, body, false);
	place(temporary, path);
	const changed = [path, dirname(path)];
	for (let at = dirname(path); made !== undefined && at.startsWith(made); at = dirname(at)) changed.push(dirname(at));
	await Promise.all(changed.map(sync));
};
