import { closeSync, constants, openSync, readlinkSync } from "node:fs";
import { errnoOf, LernieError, messageOf } from "@lernie/contract";
import { hashObject } from "./codec.ts";
import { judgeSpecialFile } from "./judge.ts";
import type { ObjectBatch } from "./objects.ts";
import { bytesOf, inside, kindOf, lastingBytesOf, type Status, statusOf, statusOfOpen } from "./place.ts";
import { isSameFile, type KnownFile, knownFile, type SnapshotCache } from "./snapshot-cache.ts";
import { specialName } from "./special-names.ts";
import { readSmall } from "./stream.ts";
import type { Mode, TreeEntry } from "./types.ts";

export interface RecordContext {
	readonly batch: ObjectBatch;
	readonly cache: SnapshotCache;
}

/** What became of one file: an entry, and what can be known of it once the batch is flushed; or a reason to name. */
export type Recorded =
	| { readonly kind: "entry"; readonly entry: TreeEntry; readonly known: KnownFile | undefined }
	| { readonly kind: "unrecorded"; readonly why: string };

const LARGEST = 100n * 1024n * 1024n;
const LARGEST_SPECIAL = 1024n * 1024n;
// The process and not the file is at fault: going on would leave files out of the record.
const FATAL: ReadonlySet<string | undefined> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

const unrecorded = (why: string): Recorded => ({ kind: "unrecorded", why });

const changed = (): LernieError => new LernieError("DISK", "the file changed", { errno: "CHANGED", source: true });

const errnoOfSource = (error: unknown): string | undefined => {
	if (!(error instanceof LernieError)) return errnoOf(error);
	const { errno } = error.data;
	return error.data.source === true && typeof errno === "string" ? errno : undefined;
};

/** Why a file or directory cannot be recorded, in a few words. Throws what is not its own fault. */
export const whyUnreadable = (error: unknown): string => {
	const errno = errnoOfSource(error);
	if (errno === undefined) throw error;
	if (FATAL.has(errno))
		throw new LernieError("DISK", `the directory cannot be read: ${messageOf(error)}`, { errno }, error);
	if (errno === "ENOENT") return "vanished while it was read";
	if (["CHANGED", "ELOOP", "EINVAL", "ENOTDIR"].includes(errno)) return "changed while it was read";
	return `cannot be read (${errno})`;
};

const ownerMode = (stat: Status): Mode => ((stat.mode & 0o100n) === 0n ? "100644" : "100755");

/** git's verdict on a file that git itself would read; each content is judged once. */
const judge = async ({ cache }: RecordContext, name: string, body: Buffer): Promise<string | null> => {
	const key = `${name}\0${hashObject("blob", body)}`;
	const known = cache.verdicts.get(key);
	if (known !== undefined) return known;
	try {
		const verdict = (await judgeSpecialFile(bytesOf(name), body)) ?? null;
		cache.verdicts.set(key, verdict);
		return verdict;
	} catch (error) {
		return `could not be checked: ${messageOf(error)}`;
	}
};

const entryOf = (stat: Status, entry: TreeEntry, readMs: number): Recorded => ({
	kind: "entry",
	entry,
	known: knownFile(stat, entry, readMs),
});

const readOpened = async (
	context: RecordContext,
	name: string,
	stat: Status,
	fd: number,
	readMs: number,
): Promise<Recorded> => {
	const path = Buffer.from(`/proc/self/fd/${fd}`);
	const size = Number(stat.size);
	const file = { mode: ownerMode(stat), name: lastingBytesOf(name) };
	if (specialName(name) === undefined)
		return entryOf(stat, { ...file, oid: await context.batch.blobFile(path, size) }, readMs);
	const body = readSmall(path, size);
	const verdict = await judge(context, name, body);
	return verdict === null ? entryOf(stat, { ...file, oid: context.batch.blob(body) }, readMs) : unrecorded(verdict);
};

const recordRegular = async (context: RecordContext, place: number, name: string, stat: Status): Promise<Recorded> => {
	if (stat.size > LARGEST) return unrecorded("larger than 100 MiB");
	if (stat.size > LARGEST_SPECIAL && specialName(name) !== undefined) return unrecorded("too large to be checked");
	const readMs = Date.now();
	// Not followed and not waited for: a link or a pipe may have taken the file's place.
	const fd = openSync(inside(place, name), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
	try {
		if (!isSameFile(statusOfOpen(fd), stat)) throw changed();
		const recorded = await readOpened(context, name, stat, fd, readMs);
		if (!isSameFile(statusOfOpen(fd), stat)) throw changed();
		return recorded;
	} finally {
		closeSync(fd);
	}
};

const recordOnce = (
	context: RecordContext,
	place: number,
	name: string,
	stat: Status,
): Promise<Recorded> | Recorded => {
	if (kindOf(stat) === "file") return recordRegular(context, place, name, stat);
	if (kindOf(stat) !== "link") throw changed();
	if (specialName(name) === "gitmodules") return unrecorded("git refuses a link of this name");
	const readMs = Date.now();
	const oid = context.batch.blob(readlinkSync(inside(place, name), { encoding: "buffer" }));
	if (!isSameFile(statusOf(place, name), stat)) throw changed();
	return entryOf(stat, { mode: "120000", name: lastingBytesOf(name), oid }, readMs);
};

/**
 * Records a regular file or a link of an open directory, byte for byte (D5). One that changes or vanishes meanwhile is tried
 * once more. Throws LernieError DISK only for what is not the file's own fault, such as a full disk.
 */
export const recordFile = async (
	context: RecordContext,
	place: number,
	name: string,
	stat: Status,
): Promise<Recorded> => {
	try {
		return await recordOnce(context, place, name, stat);
	} catch (error) {
		whyUnreadable(error);
	}
	try {
		return await recordOnce(context, place, name, statusOf(place, name));
	} catch (error) {
		return unrecorded(whyUnreadable(error));
	}
};
