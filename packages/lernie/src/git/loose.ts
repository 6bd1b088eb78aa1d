/**
 * Our own writer of loose objects: `git hash-object` wants a file for every blob, and `git mktree` never syncs (CONTRACTS §12).
 * An object is staged (written beside its place under a name that `git prune` knows), synced, and renamed in.
 */
import { randomBytes } from "node:crypto";
import { closeSync, fsync, lstatSync, mkdirSync, openSync, renameSync, utimesSync, writeSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { constants, deflate, deflateSync } from "node:zlib";
import { errnoOf } from "@lernie/contract";
import type { Oid } from "./types.ts";

const syncFile = promisify(fsync);
const deflateLater = promisify(deflate);
const SYNC_LIMIT = 64 * 1024;
const LEVEL = { level: constants.Z_BEST_SPEED };

export const loosePath = (objects: string, oid: Oid): string => join(objects, oid.slice(0, 2), oid.slice(2));

export const temporaryIn = (directory: string): string => join(directory, `tmp_obj_${randomBytes(9).toString("hex")}`);

/** Acts in a fan-out directory, making it first where it is not there (`git prune` also removes empty ones). */
const inDirectory = <Result>(directory: string, act: () => Result): Result => {
	for (let tries = 0; ; tries += 1) {
		try {
			return act();
		} catch (error) {
			if (errnoOf(error) !== "ENOENT" || tries === 3) throw error;
			mkdirSync(directory, { recursive: true });
		}
	}
};

/**
 * Whether an object lies loose in the store. An empty file is what a machine's crash leaves and does not count. As git does,
 * a hit renews the file's time, so that a prune does not take what is about to be used.
 */
export const isLoose = (objects: string, oid: Oid): boolean => {
	const path = loosePath(objects, oid);
	const size = lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
	if (size === 0) return false;
	try {
		const now = new Date();
		utimesSync(path, now, now);
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return false;
		// A time that cannot be set (a store shared read-only) does not make the object less present.
	}
	return true;
};

export const compress = async (header: Buffer, body: Buffer): Promise<Buffer> => {
	const whole = Buffer.concat([header, body]);
	// One output buffer of about the right size, where Node would take 16 KiB for a line of text.
	const sized = { ...LEVEL, chunkSize: whole.length + 64 };
	return whole.length <= SYNC_LIMIT ? deflateSync(whole, sized) : deflateLater(whole, LEVEL);
};

export const createTemporary = (path: string): number => openSync(path, "wx", 0o444);

export const writeAll = (fd: number, bytes: Buffer): void => {
	for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
};

/** Writes an object's compressed bytes beside its place and returns that path; not yet synced. */
export const stage = (objects: string, oid: Oid, compressed: Buffer): string => {
	const directory = join(objects, oid.slice(0, 2));
	const path = temporaryIn(directory);
	const fd = inDirectory(directory, () => createTemporary(path));
	try {
		writeAll(fd, compressed);
	} finally {
		closeSync(fd);
	}
	return path;
};

/** Makes a staged file durable. */
export const syncStaged = async (path: string): Promise<void> => {
	const fd = openSync(path, "r");
	try {
		await syncFile(fd);
	} finally {
		closeSync(fd);
	}
};

export const moveIn = (objects: string, oid: Oid, staged: string): void => {
	const directory = join(objects, oid.slice(0, 2));
	// A staged file that is gone would make this loop; `inDirectory` gives up after three tries.
	inDirectory(directory, () => renameSync(staged, loosePath(objects, oid)));
};
