import { type BigIntStats, constants } from "node:fs";
import { access, lstat, open, readlink } from "node:fs/promises";
import { errnoOf, LernieError } from "@lernie/contract";
import { readUpTo } from "../file-access.ts";
import { done, type Outcome, refused } from "./outcome.ts";
import { inDirectory, type Place, type Within } from "./place.ts";

/** What stood at a place when the patch was planned: enough to know it again and to put it back. */
export interface Original {
	readonly kind: "file" | "link";
	/** The file's content, or the link's target. */
	readonly bytes: Buffer;
	readonly mode: number;
	readonly uid: number;
	readonly gid: number;
	readonly stamp: string;
}

const FILE_BYTES = 16 * 1024 * 1024;
const CHANGED = "it changed while the patch was being applied";

const stampOf = ({ dev, ino, size, mtimeNs }: BigIntStats): string => [dev, ino, size, mtimeNs].join(":");

const look = async (path: string): Promise<BigIntStats | undefined> => {
	try {
		return await lstat(path, { bigint: true });
	} catch (thrown) {
		if (errnoOf(thrown) === "ENOENT") return undefined;
		throw thrown;
	}
};

const kindOf = (stat: BigIntStats): string => {
	if (stat.isDirectory()) return "a directory";
	if (stat.isSocket()) return "a socket";
	return stat.isFIFO() ? "a named pipe" : "a device";
};

const originalOf = (kind: Original["kind"], bytes: Buffer, stat: BigIntStats): Original => ({
	kind,
	bytes,
	// Whoever writes a file as a user takes its set-id bits away.
	mode: Number(stat.mode & 0o777n),
	uid: Number(stat.uid),
	gid: Number(stat.gid),
	stamp: stampOf(stat),
});

const readRegular = async (path: string, stat: BigIntStats): Promise<Outcome<Original>> => {
	if (stat.size > FILE_BYTES)
		return refused(`it is ${stat.size} bytes, over the cap ${FILE_BYTES}; change it with bash`);
	// Neither followed nor waited for, should a link or a pipe have taken its place.
	const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
	try {
		const same = async (): Promise<boolean> => stampOf(await file.stat({ bigint: true })) === stampOf(stat);
		const bytes = (await same()) ? await readUpTo(file, Number(stat.size) + 1) : undefined;
		if (bytes?.length !== Number(stat.size) || !(await same())) return refused(CHANGED);
		return done(originalOf("file", bytes, stat));
	} finally {
		await file.close();
	}
};

/** Reads what stands at a place: a regular file of at most 16 MiB or a link, and nothing else. Rejects with a disk fault. */
export const readOriginal = async (place: Place): Promise<Outcome<Original>> => {
	if (place.missing.length > 0) return refused("no such file");
	return inDirectory(place.directory, async (within) => {
		const path = within(place.name);
		const stat = await look(path);
		if (stat === undefined) return refused("no such file");
		if (stat.isSymbolicLink()) return done(originalOf("link", await readlink(path, { encoding: "buffer" }), stat));
		return stat.isFile() ? readRegular(path, stat) : refused(`it is ${kindOf(stat)}`);
	});
};

/** Why a new file cannot get this place; undefined where nothing is there. */
export const occupied = async (place: Place): Promise<string | undefined> => {
	if (place.missing.length > 0) return undefined;
	const stat = await inDirectory(place.directory, (within) => look(within(place.name)));
	if (stat === undefined) return undefined;
	if (stat.isSymbolicLink()) return "it is a link; delete it first, or give the path it leads to";
	return stat.isFile() ? "it exists already" : `it is ${kindOf(stat)}`;
};

/** Rejects where names in a place's directory, or its file where `replaced`, may not be changed, as far as that shows. */
export const checkWritable = (place: Place, replaced: boolean): Promise<void> =>
	inDirectory(place.directory, async (within) => {
		await access(within("."), constants.W_OK | constants.X_OK);
		if (replaced) await access(within(place.name), constants.W_OK);
	});

/** Throws `DISK` where another file stands at a place now than the one that was read. */
export const checkUnchanged = async (within: Within, name: string, original: Original): Promise<void> => {
	const stat = await look(within(name));
	if (stat === undefined || stampOf(stat) !== original.stamp) throw new LernieError("DISK", CHANGED);
};
