import { type BigIntStats, closeSync, constants, fstatSync, lstatSync, openSync, readdirSync } from "node:fs";

/** A directory that is open: everything in it is reached through its descriptor, so that no link can lead out of it. */
export interface Place {
	readonly fd: number;
	/** From the root, bytes as latin1; empty for the root itself. */
	readonly path: string;
	readonly depth: number;
}

export const DEEPEST = 512;

/** The bytes of a name or path that is kept as latin1: one character a byte, and cheaper than a buffer. */
export const bytesOf = (name: string): Buffer => Buffer.from(name, "latin1");

const SLAB = 64 * 1024;
let slab = Buffer.alloc(0);
let used = 0;

/** The same, for bytes that are kept: side by side, where Node would keep 8 KiB of other things alive with each. */
export const lastingBytesOf = (name: string): Buffer => {
	if (used + name.length > slab.length) {
		slab = Buffer.allocUnsafeSlow(Math.max(SLAB, name.length));
		used = 0;
	}
	const start = used;
	used += slab.write(name, start, "latin1");
	return slab.subarray(start, used);
};

/** Opens a directory for reading; fails on a link. */
export const openDirectory = (path: Buffer | string): number =>
	openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is meant
const ASCII = /^[\x00-\x7f]*$/;

/** The path of a name in an open directory. Node writes texts as UTF-8, which for ASCII alone are the same bytes. */
export const inside = (fd: number, name: string): Buffer | string => {
	const path = `/proc/self/fd/${fd}/${name}`;
	return ASCII.test(name) ? path : bytesOf(path);
};

/** The names in an open directory, in byte order. */
export const namesIn = (fd: number): string[] => readdirSync(`/proc/self/fd/${fd}`, { encoding: "latin1" }).sort();

export const pathOf = ({ path }: Place, name: string): string => (path === "" ? name : `${path}/${name}`);

/** What tells that nothing was done to a file: a change to its content, type or mode changes one of these. */
export type Status = Readonly<Pick<BigIntStats, "dev" | "ino" | "size" | "mode" | "mtimeNs" | "ctimeNs">>;

/** A third of what Node answers, and of the memory. */
const pick = ({ dev, ino, size, mode, mtimeNs, ctimeNs }: BigIntStats): Status => ({
	dev,
	ino,
	size,
	mode,
	mtimeNs,
	ctimeNs,
});

export const statusOf = (fd: number, name: string): Status => pick(lstatSync(inside(fd, name), { bigint: true }));

export const statusOfOpen = (fd: number): Status => pick(fstatSync(fd, { bigint: true }));

export type Kind = "file" | "directory" | "link" | "socket" | "pipe" | "device";

const KINDS: ReadonlyMap<number, Kind> = new Map([
	[constants.S_IFREG, "file"],
	[constants.S_IFDIR, "directory"],
	[constants.S_IFLNK, "link"],
	[constants.S_IFSOCK, "socket"],
	[constants.S_IFIFO, "pipe"],
]);

export const kindOf = ({ mode }: Status): Kind => KINDS.get(Number(mode) & constants.S_IFMT) ?? "device";

/** How many files a name of an open directory stands for: itself, or those below it. Links are not followed. */
export const countFiles = (fd: number, name: string, depth = 0): number => {
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
