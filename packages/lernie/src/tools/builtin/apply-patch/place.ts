import { constants } from "node:fs";
import { lstat, mkdir, open, readlink, realpath, stat } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { errnoOf, LernieError, strictUtf8 } from "@lernie/contract";
import { lies } from "../file-access.ts";
import { done, type Outcome, refused } from "./outcome.ts";

/** Where a path of a patch leads: the directory with every link resolved, and what is to be made in it. */
export interface Place {
	/** As the patch names it. */
	readonly path: string;
	/** The deepest directory on the way that exists, absolute and without links. */
	readonly directory: string;
	/** Names of the directories below it that do not exist yet. */
	readonly missing: readonly string[];
	readonly name: string;
}

/** What stands for a place once links are resolved: two paths to one file have the same. */
export const keyOf = ({ directory, missing, name }: Place): string => join(directory, ...missing, name);

/** This tool runs in the driver: there it would reach the driver's own memory, descriptors and devices. */
const CLOSED = ["/proc", "/sys", "/dev"];
const LINKS_MAX = 40;

interface Way {
	readonly directory: string;
	readonly missing: readonly string[];
}

const closedOff = (directory: string): Outcome<never> | undefined => {
	const closed = CLOSED.find((root) => lies(directory, root));
	return closed === undefined ? undefined : refused(`nothing in ${closed} is changed by this tool`);
};

/** The names a link stands for, and where they start; the link must lead to a directory. */
const follow = async (
	path: string,
): Promise<Outcome<{ readonly start: string; readonly names: readonly string[] }>> => {
	const target = strictUtf8(await readlink(path, { encoding: "buffer" }));
	const leads = await stat(path).catch(() => undefined);
	if (leads === undefined || target === undefined) return refused(`${path} is a link that leads nowhere`);
	if (!leads.isDirectory()) return refused(`${path} is not a directory`);
	return done({ start: target.startsWith("/") ? "/" : dirname(path), names: target.split("/") });
};

/** Goes from an existing directory along names, link by link, as far as there are directories. */
const walk = async (start: string, names: readonly string[]): Promise<Outcome<Way>> => {
	const left = [...names];
	let directory = start;
	for (let links = 0; ; ) {
		const closed = closedOff(directory);
		if (closed !== undefined) return closed;
		const name = left.shift();
		if (name === undefined) return done({ directory, missing: [] });
		if (name === "" || name === ".") continue;
		const next = name === ".." ? dirname(directory) : join(directory, name);
		const found = await lstat(next).catch((thrown: unknown) => {
			if (errnoOf(thrown) === "ENOENT") return undefined;
			throw thrown;
		});
		if (found === undefined) return done({ directory, missing: [name, ...left] });
		if (found.isDirectory()) {
			directory = next;
			continue;
		}
		if (!found.isSymbolicLink()) return refused(`${next} is not a directory`);
		links += 1;
		const target = await follow(next);
		if (!target.ok) return target;
		if (links > LINKS_MAX) return refused(`${next}: too many links`);
		directory = target.value.start;
		left.unshift(...target.value.names);
	}
};

/**
 * Resolves a path of a patch (DESIGN §8): `..` as it is written, links in its directories by following them, never a link
 * in its last name. A path that lies beneath the working directory must stay there; any other stands as it is, but for
 * what is closed to this tool.
 */
export const locate = async (path: string, cwd: string): Promise<Outcome<Place>> => {
	const whole = resolve(cwd, path);
	const root = await realpath(cwd);
	const base = [cwd, root].find((directory) => lies(whole, directory));
	const names = relative(base ?? "/", whole).split("/");
	const name = names.pop() ?? "";
	if (name === "") return refused(`${path}: it is a directory`);
	const way = await walk(base === undefined ? "/" : root, names);
	if (!way.ok) return refused(`${path}: ${way.why}`);
	const { directory, missing } = way.value;
	if (base !== undefined && !lies(directory, root))
		return refused(`${path}: it leads out of the working directory, to ${directory}; give that path to change it`);
	return done({ path, directory, missing, name });
};

/** Paths of names in an open directory. They lead there whatever is put in its place meanwhile. */
export type Within = (name: string) => string;

/**
 * Acts in a directory that `locate` found, through a descriptor. Throws `DISK` where a link or another directory has taken
 * its place or that of a directory above it since.
 */
export const inDirectory = async <Result>(path: string, act: (within: Within) => Promise<Result>): Promise<Result> => {
	const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
	try {
		const self = `/proc/self/fd/${directory.fd}`;
		if ((await readlink(self)) !== path) throw new LernieError("DISK", `the directory ${path} changed meanwhile`);
		return await act((name) => `${self}/${name}`);
	} finally {
		await directory.close();
	}
};

/** Makes the directories of a place that are missing, noting each in `made`, and answers with the last one. */
export const makeDirectories = async ({ directory, missing }: Place, made: string[]): Promise<string> => {
	let at = directory;
	for (const name of missing) {
		const next = join(at, name);
		await inDirectory(at, async (within) => {
			try {
				await mkdir(within(name));
				made.push(next);
			} catch (thrown) {
				// Another file of the patch needed it too.
				if (errnoOf(thrown) !== "EEXIST") throw thrown;
			}
		});
		at = next;
	}
	return at;
};
