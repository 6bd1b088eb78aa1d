import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync } from "node:fs";
import { errnoOf, LernieError, messageOf } from "@lernie/contract";
import { hashObject } from "./codec.ts";
import { judgeSpecialFile } from "./judge.ts";
import type { ObjectBatch } from "./objects.ts";
import { identityOf, type SnapshotCache } from "./snapshot-cache.ts";
import { specialName } from "./special-names.ts";
import { readSmall } from "./stream.ts";
import type { Mode, Oid } from "./types.ts";

export interface RecordContext {
	readonly batch: ObjectBatch;
	readonly cache: SnapshotCache;
}

/** What became of one file: an entry, a reason to name, or nothing (left out without a word). */
export type Recorded =
	| { readonly kind: "entry"; readonly mode: Mode; readonly oid: Oid }
	| { readonly kind: "unrecorded"; readonly why: string }
	| { readonly kind: "nothing" };

const LARGEST = 100n * 1024n * 1024n;
const LARGEST_SPECIAL = 1024n * 1024n;
// The process and not the file is at fault: going on would leave files out of the record.
const FATAL: ReadonlySet<string | undefined> = new Set(["EMFILE", "ENFILE", "ENOMEM"]);

const unrecorded = (why: string): Recorded => ({ kind: "unrecorded", why });
const entry = (mode: Mode, oid: Oid): Recorded => ({ kind: "entry", mode, oid });

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

const ownerMode = (stat: BigIntStats): Mode => ((stat.mode & 0o100n) === 0n ? "100644" : "100755");

/** git's verdict on a file that git itself would read; each content is judged once. */
const judge = async ({ cache }: RecordContext, name: Buffer, body: Buffer): Promise<string | null> => {
	const key = `${name.toString("latin1")}\0${hashObject("blob", body)}`;
	const known = cache.verdicts.get(key);
	if (known !== undefined) return known;
	try {
		const verdict = (await judgeSpecialFile(name, body)) ?? null;
		cache.verdicts.set(key, verdict);
		return verdict;
	} catch (error) {
		return `could not be checked: ${messageOf(error)}`;
	}
};

const readOpened = async (context: RecordContext, name: Buffer, stat: BigIntStats, fd: number): Promise<Recorded> => {
	const path = Buffer.from(`/proc/self/fd/${fd}`);
	const size = Number(stat.size);
	const mode = ownerMode(stat);
	if (specialName(name) === undefined) return entry(mode, await context.batch.blobFile(path, size));
	const body = readSmall(path, size);
	const verdict = await judge(context, name, body);
	return verdict === null ? entry(mode, context.batch.blob(body)) : unrecorded(verdict);
};

const recordRegular = async (
	context: RecordContext,
	path: Buffer,
	name: Buffer,
	stat: BigIntStats,
): Promise<Recorded> => {
	if (stat.size > LARGEST) return unrecorded("larger than 100 MiB");
	if (stat.size > LARGEST_SPECIAL && specialName(name) !== undefined) return unrecorded("too large to be checked");
	const readMs = Date.now();
	// Not followed and not waited for: a link or a pipe may have taken the file's place.
	const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
	try {
		if (identityOf(fstatSync(fd, { bigint: true })) !== identityOf(stat)) throw changed();
		const recorded = await readOpened(context, name, stat, fd);
		if (identityOf(fstatSync(fd, { bigint: true })) !== identityOf(stat)) throw changed();
		// Only what is durable may be taken for recorded the next time.
		if (recorded.kind === "entry") {
			context.batch.afterFlush(() => context.cache.keep(stat, recorded.oid, readMs));
		}
		return recorded;
	} finally {
		closeSync(fd);
	}
};

const recordOnce = (
	context: RecordContext,
	path: Buffer,
	name: Buffer,
	stat: BigIntStats,
): Promise<Recorded> | Recorded => {
	if (stat.isSymbolicLink()) {
		if (specialName(name) === "gitmodules") return { kind: "nothing" };
		return entry("120000", context.batch.blob(readlinkSync(path, { encoding: "buffer" })));
	}
	if (!stat.isFile()) throw changed();
	const known = context.cache.find(stat);
	return known === undefined ? recordRegular(context, path, name, stat) : entry(ownerMode(stat), known);
};

/**
 * Records a regular file or a link, byte for byte (D5). One that changes or vanishes meanwhile is tried once more. Throws
 * LernieError DISK only for what is not the file's own fault, such as a full disk.
 */
export const recordFile = async (
	context: RecordContext,
	path: Buffer,
	name: Buffer,
	stat: BigIntStats,
): Promise<Recorded> => {
	try {
		return await recordOnce(context, path, name, stat);
	} catch (error) {
		whyUnreadable(error);
	}
	try {
		return await recordOnce(context, path, name, lstatSync(path, { bigint: true }));
	} catch (error) {
		return unrecorded(whyUnreadable(error));
	}
};
