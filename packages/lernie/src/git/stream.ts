import { createHash } from "node:crypto";
import { closeSync, openSync, readSync, unlinkSync } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { constants, createDeflate } from "node:zlib";
import { errnoOf, LernieError, messageOf } from "@lernie/contract";
import { objectHeader } from "./codec.ts";
import { createTemporary, temporaryIn, writeAll } from "./loose.ts";
import type { Oid } from "./types.ts";

const CHUNK = 256 * 1024;

/** The file is at fault and not the store: `data.source` is true, `data.errno` Node's code or `CHANGED`. */
const sourceError = (path: Buffer, errno: string | undefined, message: string, cause?: unknown): LernieError =>
	new LernieError("DISK", message, { path: path.toString("utf8"), errno, source: true }, cause);

const unreadable = (path: Buffer, error: unknown): LernieError =>
	sourceError(path, errnoOf(error), `the file cannot be read: ${messageOf(error)}`, error);

const changedMeanwhile = (path: Buffer): LernieError =>
	sourceError(path, "CHANGED", "the file changed while it was read");

const reading = async <Result>(path: Buffer, act: () => Promise<Result>): Promise<Result> => {
	try {
		return await act();
	} catch (error) {
		throw unreadable(path, error);
	}
};

const openSource = (path: Buffer): Promise<FileHandle> => reading(path, () => open(path, "r"));

/** Yields exactly `size` bytes of a file. Throws when it has fewer or more: somebody is writing it. */
const readExactly = async function* (file: FileHandle, path: Buffer, size: number): AsyncGenerator<Buffer> {
	let have = 0;
	for (;;) {
		const chunk = Buffer.allocUnsafe(CHUNK);
		const { bytesRead, buffer } = await reading(path, () => file.read(chunk, 0, CHUNK, null));
		have += bytesRead;
		if (have > size || (bytesRead === 0 && have < size)) throw changedMeanwhile(path);
		if (bytesRead === 0) return;
		yield buffer.subarray(0, bytesRead);
	}
};

export interface StagedBlob {
	readonly oid: Oid;
	readonly path: string;
	readonly bytes: number;
}

/** Compresses a file into a staged object; the bytes hashed are the bytes stored. Memory does not grow with the file. */
export const stageFile = async (objects: string, path: Buffer, size: number): Promise<StagedBlob> => {
	const staged = temporaryIn(objects);
	const file = await openSource(path);
	const out = createTemporary(staged);
	const hash = createHash("sha1");
	let bytes = 0;
	const content = async function* (): AsyncGenerator<Buffer> {
		const header = objectHeader("blob", size);
		hash.update(header);
		yield header;
		for await (const chunk of readExactly(file, path, size)) {
			hash.update(chunk);
			yield chunk;
		}
	};
	const store = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
		for await (const chunk of chunks) {
			writeAll(out, chunk);
			bytes += chunk.length;
		}
	};
	try {
		await pipeline(content, createDeflate({ level: constants.Z_BEST_SPEED }), store);
	} catch (error) {
		unlinkSync(staged);
		throw error;
	} finally {
		closeSync(out);
		await file.close();
	}
	return { oid: hash.digest("hex"), path: staged, bytes };
};

/**
 * The whole of a small file, without the thread pool, whose hops cost more than the bytes; in `room` where that is given and
 * large enough. Throws LernieError DISK (`data.source`) when it is not `size` bytes long.
 */
export const readSmall = (path: Buffer, size: number, room?: Buffer): Buffer => {
	// One byte more than it should have shows a file that has grown.
	const body = room !== undefined && room.length > size ? room : Buffer.allocUnsafe(size + 1);
	let have = 0;
	try {
		const fd = openSync(path, "r");
		try {
			for (let got = -1; got !== 0 && have <= size; have += got) got = readSync(fd, body, have, size + 1 - have, null);
		} finally {
			closeSync(fd);
		}
	} catch (error) {
		throw unreadable(path, error);
	}
	if (have !== size) throw changedMeanwhile(path);
	return body.subarray(0, size);
};
