import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, unlinkSync, writeSync } from "node:fs";
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

const writeTemporary = (path: string, body: string | Uint8Array): void => {
	const fd = openSync(path, "w", 0o644);
	try {
		const bytes = typeof body === "string" ? Buffer.from(body) : body;
		for (let at = 0; at < bytes.byteLength; ) at += writeSync(fd, bytes, at);
		fsyncSync(fd);
	} finally {
		closeSync(fd);
	}
};

/** Creates `path` with `body`, durable with its name. Throws `EEXIST` where it is there already; never replaces a file. */
export const createDurable = (path: string, temporary: string, body: string | Uint8Array): void => {
	writeTemporary(temporary, body);
	try {
		linkSync(temporary, path);
	} finally {
		unlinkSync(temporary);
	}
	syncDirectory(dirname(path));
};
