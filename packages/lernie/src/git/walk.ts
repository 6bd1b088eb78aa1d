import { type BigIntStats, closeSync, constants, lstatSync, openSync, readdirSync } from "node:fs";
import { setImmediate as breathe } from "node:timers/promises";
import type { IgnoreJudge } from "./ignore.ts";
import { type RecordContext, recordFile, whyUnreadable } from "./record-file.ts";
import { isDotGit, specialName } from "./special-names.ts";
import type { TreeEntry } from "./types.ts";

export interface Walk extends RecordContext {
	readonly ignore: IgnoreJudge;
	readonly unrecorded: { readonly path: Buffer; readonly why: string }[];
	lastBreath: number;
}

/** Whether `.gitignore` has a say here; `never` where asking git could block on a pipe of that name. */
type Asking = "no" | "yes" | "never";

/** A directory that is open: everything in it is reached through its descriptor, so that no link can lead out of it. */
export interface Place {
	readonly fd: number;
	/** Relative to the root; empty for the root itself. */
	readonly path: Buffer;
	readonly depth: number;
}

interface Found {
	readonly name: Buffer;
	readonly path: Buffer;
	readonly stat: BigIntStats;
}

const DEEPEST = 512;
// Longer ones could not be written again below another directory.
const LONGEST = 3000;
const SLASH = Buffer.from("/");
const GITIGNORE = Buffer.from(".gitignore");

/** Opens a directory for reading; fails on a link. */
export const openDirectory = (path: Buffer | string): number =>
	openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);

const inside = (fd: number, name: Buffer): Buffer => Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]);

/** The raw names in an open directory, in byte order. */
export const namesIn = (fd: number): Buffer[] =>
	readdirSync(`/proc/self/fd/${fd}`, { encoding: "buffer" }).sort(Buffer.compare);

const join = (path: Buffer, name: Buffer): Buffer => (path.length === 0 ? name : Buffer.concat([path, SLASH, name]));

const lookAt = (walk: Walk, place: Place, name: Buffer): Found[] => {
	const path = join(place.path, name);
	try {
		return [{ name, path, stat: lstatSync(inside(place.fd, name), { bigint: true }) }];
	} catch (error) {
		walk.unrecorded.push({ path, why: whyUnreadable(error) });
		return [];
	}
};

const askingBelow = (asking: Asking, found: readonly Found[]): Asking => {
	const stat = found.find(({ name }) => name.equals(GITIGNORE))?.stat;
	if (asking === "never" || stat?.isFIFO() || stat?.isCharacterDevice() || stat?.isBlockDevice()) return "never";
	return stat?.isFile() ? "yes" : asking;
};

const withoutIgnored = async (walk: Walk, found: readonly Found[]): Promise<readonly Found[]> => {
	const ignored = await walk.ignore.ignored(found.map(({ path }) => path));
	return found.filter((_, at) => ignored[at] !== true);
};

const kindOf = (stat: BigIntStats): string => {
	if (stat.isSocket()) return "a socket";
	return stat.isFIFO() ? "a named pipe" : "a device";
};

const openPlace = (walk: Walk, place: Place, { name, path }: Found): { place: Place; names: Buffer[] } | undefined => {
	let fd: number | undefined;
	try {
		fd = openDirectory(inside(place.fd, name));
		return { place: { fd, path, depth: place.depth + 1 }, names: namesIn(fd) };
	} catch (error) {
		if (fd !== undefined) closeSync(fd);
		walk.unrecorded.push({ path, why: whyUnreadable(error) });
		return undefined;
	}
};

const recordDirectory = async (walk: Walk, place: Place, found: Found, asking: Asking): Promise<TreeEntry[]> => {
	const opened = openPlace(walk, place, found);
	if (opened === undefined) return [];
	try {
		const entries = await walkPlace(walk, opened.place, opened.names, asking);
		// As in git, a directory is there only by its files.
		return entries.length === 0 ? [] : [{ mode: "40000", name: found.name, oid: walk.batch.tree(entries) }];
	} finally {
		closeSync(opened.place.fd);
	}
};

const recordFound = async (walk: Walk, place: Place, found: Found, asking: Asking): Promise<TreeEntry[]> => {
	const { name, path, stat } = found;
	const leaveOut = (why: string): TreeEntry[] => {
		walk.unrecorded.push({ path, why });
		return [];
	};
	if (path.length > LONGEST) return leaveOut("the path is too long");
	if (stat.isDirectory()) {
		if (specialName(name) !== undefined) return leaveOut("git refuses a directory of this name");
		return place.depth >= DEEPEST ? leaveOut("nested too deep") : recordDirectory(walk, place, found, asking);
	}
	if (!stat.isFile() && !stat.isSymbolicLink()) return leaveOut(kindOf(stat));
	const recorded = await recordFile(walk, inside(place.fd, name), name, stat);
	if (recorded.kind === "unrecorded") return leaveOut(recorded.why);
	return recorded.kind === "entry" ? [{ mode: recorded.mode, name, oid: recorded.oid }] : [];
};

/** Records the given names of an open directory and everything below them. */
export const walkPlace = async (
	walk: Walk,
	place: Place,
	names: readonly Buffer[],
	inherited: Asking = "no",
): Promise<TreeEntry[]> => {
	const found = names.filter((name) => !isDotGit(name)).flatMap((name) => lookAt(walk, place, name));
	const asking = askingBelow(inherited, found);
	const kept = asking === "yes" ? await withoutIgnored(walk, found) : found;
	const entries: TreeEntry[] = [];
	for (const one of kept) entries.push(...(await recordFound(walk, place, one, asking)));
	if (Date.now() - walk.lastBreath > 20) {
		await breathe();
		walk.lastBreath = Date.now();
	}
	return entries;
};

/** How many files a name of an open directory stands for: itself, or those below it. Links are not followed. */
export const countFiles = (fd: number, name: Buffer, depth = 0): number => {
	const path = inside(fd, name);
	if (!lstatSync(path, { throwIfNoEntry: false })?.isDirectory() || depth > DEEPEST) return 1;
	let below: number;
	try {
		below = openDirectory(path);
	} catch {
		// What cannot be looked into counts as one.
		return 1;
	}
	try {
		return namesIn(below).reduce((sum, child) => sum + countFiles(below, child, depth + 1), 0);
	} finally {
		closeSync(below);
	}
};
