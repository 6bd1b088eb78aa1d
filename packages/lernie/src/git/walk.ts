import { closeSync } from "node:fs";
import { setImmediate as breathe } from "node:timers/promises";
import type { IgnoreJudge } from "./ignore.ts";
import {
	bytesOf,
	DEEPEST,
	inside,
	type Kind,
	kindOf,
	lastingBytesOf,
	namesIn,
	openDirectory,
	type Place,
	pathOf,
	statusOf,
	statusOfOpen,
} from "./place.ts";
import { type RecordContext, recordFile, whyUnreadable } from "./record-file.ts";
import { type Found, NO_RULES, type Rules, rulesIn, withoutIgnored } from "./rules.ts";
import { isSameFile, type KnownDirectory, type KnownFile } from "./snapshot-cache.ts";
import { isDotGit, specialName } from "./special-names.ts";
import type { TreeEntry } from "./types.ts";

export interface Walk extends RecordContext {
	readonly ignore: IgnoreJudge;
	readonly unrecorded: { readonly path: Buffer; readonly why: string }[];
	lastBreath: number;
}

/** Something in a directory, and what is known of it where nothing was done to it since. */
interface Met extends Found {
	/** Its place among the names of the directory. */
	readonly at: number;
	readonly known: KnownFile | undefined;
}

// Longer ones could not be written again below another directory.
const LONGEST = 3000;
/** How many names are looked at before somebody else gets a turn. */
const TURN = 1000;

/** Names what is not recorded; answers the entry it does not become. */
const leaveOut = (walk: Walk, place: Place, name: string, why: string): undefined => {
	walk.unrecorded.push({ path: bytesOf(pathOf(place, name)), why });
	return undefined;
};

const takeTurns = async (walk: Walk): Promise<void> => {
	if (Date.now() - walk.lastBreath <= 20) return;
	await breathe();
	walk.lastBreath = Date.now();
};

const isSameList = (a: readonly string[], b: readonly string[]): boolean =>
	a.length === b.length && a.every((name, at) => name === b[at]);

/** Finds what is known of a name, by its place in the list where the list is as it was. */
const recall = (
	last: KnownDirectory | undefined,
	names: readonly string[],
): ((name: string, at: number) => KnownFile | undefined) => {
	if (last === undefined) return () => undefined;
	if (isSameList(last.names, names)) return (_, at) => last.files[at];
	const files = new Map(last.names.map((name, at) => [name, last.files[at]]));
	return (name) => files.get(name);
};

const meet = async (
	walk: Walk,
	place: Place,
	names: readonly string[],
	last: KnownDirectory | undefined,
): Promise<readonly Met[]> => {
	const find = recall(last, names);
	const met: Met[] = [];
	for (const [at, name] of names.entries()) {
		if (at % TURN === TURN - 1) await takeTurns(walk);
		if (isDotGit(name)) {
			leaveOut(walk, place, name, "git takes it for its own");
			continue;
		}
		try {
			const stat = statusOf(place.fd, name);
			const known = find(name, at);
			met.push({ name, stat, at, known: known !== undefined && isSameFile(known.status, stat) ? known : undefined });
		} catch (error) {
			leaveOut(walk, place, name, whyUnreadable(error));
		}
	}
	return met;
};

const openPlace = (walk: Walk, place: Place, name: string): { place: Place; names: string[] } | undefined => {
	let fd: number | undefined;
	try {
		fd = openDirectory(inside(place.fd, name));
		return { place: { fd, path: pathOf(place, name), depth: place.depth + 1 }, names: namesIn(fd) };
	} catch (error) {
		if (fd !== undefined) closeSync(fd);
		return leaveOut(walk, place, name, whyUnreadable(error));
	}
};

const SPECIAL: Partial<Record<Kind, string>> = { socket: "a socket", pipe: "a named pipe", device: "a device" };

const isSameEntry = (a: TreeEntry, b: TreeEntry | undefined): boolean =>
	a === b || (b !== undefined && a.oid === b.oid && a.mode === b.mode && a.name.equals(b.name));

/** The tree of a directory; one that is as it was need not be written and hashed again. */
const treeOf = (walk: Walk, { entries, last, next }: Walked): string => {
	const known = last?.tree;
	if (known !== undefined && known.entries.length === entries.length) {
		if (entries.every((entry, at) => isSameEntry(entry, known.entries[at]))) {
			next.tree = known;
			return known.oid;
		}
	}
	const oid = walk.batch.tree(entries);
	// Only what is durable may be taken for recorded the next time.
	walk.batch.afterFlush(() => {
		next.tree = { entries, oid };
	});
	return oid;
};

const recordDirectory = async (
	walk: Walk,
	place: Place,
	name: string,
	rules: Rules,
): Promise<TreeEntry | undefined> => {
	const opened = openPlace(walk, place, name);
	if (opened === undefined) return undefined;
	try {
		const walked = await walkPlace(walk, opened.place, opened.names, rules);
		// As in git, a directory is there only by its files.
		if (walked.entries.length === 0) return undefined;
		return { mode: "40000", name: lastingBytesOf(name), oid: treeOf(walk, walked) };
	} finally {
		closeSync(opened.place.fd);
	}
};

/** What a name of a directory became, and what is to be known of it. */
interface Taken {
	readonly entry: TreeEntry;
	readonly known?: KnownFile | undefined;
}

/** Records what is not known by its status; what cannot be recorded is named, and becomes nothing. */
const record = async (walk: Walk, place: Place, found: Found, rules: Rules): Promise<Taken | undefined> => {
	const { name, stat } = found;
	const refuse = (why: string): undefined => leaveOut(walk, place, name, why);
	if (pathOf(place, name).length > LONGEST) return refuse("the path is too long");
	const kind = kindOf(stat);
	if (kind === "directory") {
		if (specialName(name) !== undefined) return refuse("git refuses a directory of this name");
		if (place.depth >= DEEPEST) return refuse("nested too deep");
		const entry = await recordDirectory(walk, place, name, rules);
		return entry === undefined ? undefined : { entry };
	}
	const special = SPECIAL[kind];
	if (special !== undefined) return refuse(special);
	const recorded = await recordFile(walk, place.fd, name, stat);
	return recorded.kind === "unrecorded" ? refuse(recorded.why) : recorded;
};

interface Walked {
	readonly entries: readonly TreeEntry[];
	readonly last: KnownDirectory | undefined;
	readonly next: KnownDirectory;
}

/** Records the given names of an open directory and everything below them. */
export const walkPlace = async (
	walk: Walk,
	place: Place,
	names: readonly string[],
	inherited: Rules = NO_RULES,
): Promise<Walked> => {
	const now = Date.now();
	const { last, next } = walk.cache.directory(statusOfOpen(place.fd));
	const met = await meet(walk, place, names, last);
	const rules = rulesIn(inherited, place, met, now);
	const kept = await withoutIgnored(walk.ignore, place, met, rules, last, next);
	next.names = names;
	const entries: TreeEntry[] = [];
	const learned: [at: number, known: KnownFile][] = [];
	for (const one of kept) {
		const taken: Taken | undefined = one.known ?? (await record(walk, place, one, rules));
		if (taken === undefined) continue;
		entries.push(taken.entry);
		if (one.known !== undefined) next.files[one.at] = one.known;
		else if (taken.known !== undefined) learned.push([one.at, taken.known]);
	}
	// Only what is durable may be taken for recorded the next time.
	if (learned.length > 0) {
		walk.batch.afterFlush(() => {
			for (const [at, known] of learned) next.files[at] = known;
		});
	}
	await takeTurns(walk);
	return { entries, last, next };
};
