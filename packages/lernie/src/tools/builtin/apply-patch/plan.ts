import { strictUtf8 } from "@lernie/contract";
import { applyHunks, type HunkReport } from "./edit.ts";
import { type Budget, createBudget } from "./match.ts";
import { checkWritable, type Original, occupied, readOriginal } from "./original.ts";
import { done, type Outcome, refused, whyFailed } from "./outcome.ts";
import type { Operation } from "./parse.ts";
import { keyOf, locate, type Place } from "./place.ts";

/** What is told of one file when the patch is applied. */
interface FileReport {
	readonly path: string;
	readonly op: Operation["kind"];
	readonly moved_to?: string;
	readonly hunks?: readonly HunkReport[];
}

/** A file as it will stand. It replaces `original`; the owner and mode are those of `like`. */
export interface Put {
	readonly place: Place;
	readonly bytes: Buffer;
	readonly original?: Original;
	readonly like?: Original;
}

/** A file or a link that will be gone. */
interface Take {
	readonly place: Place;
	readonly original: Original;
}

export interface Change {
	readonly path: string;
	readonly put?: Put;
	readonly take?: Take;
	readonly report: FileReport;
}

const LINES_MAX = 1_000_000;
const TOTAL_BYTES = 32 * 1024 * 1024;

/** What one patch may still cost. */
interface Limits extends Budget {
	bytes: number;
}

interface Located {
	readonly operation: Operation;
	readonly place: Place;
	readonly destination: Place | undefined;
}

const locateOne = async (path: string, cwd: string): Promise<Outcome<Place>> => {
	try {
		return await locate(path, cwd);
	} catch (thrown) {
		return refused(`${path}: ${whyFailed(thrown)}`);
	}
};

const locateAll = async (operations: readonly Operation[], cwd: string): Promise<Outcome<readonly Located[]>> => {
	const located: Located[] = [];
	for (const operation of operations) {
		const place = await locateOne(operation.path, cwd);
		if (!place.ok) return place;
		const moveTo = operation.kind === "update" ? operation.moveTo : undefined;
		const destination = moveTo === undefined ? undefined : await locateOne(moveTo.path, cwd);
		if (destination?.ok === false) return destination;
		located.push({ operation, place: place.value, destination: destination?.value });
	}
	return done(located);
};

/** Each operation is judged by the state before the patch, so no two may have to do with one path. */
const checkApart = (located: readonly Located[]): Outcome<undefined> => {
	const users = new Map<string, string>();
	const places = located.flatMap(({ operation, place, destination }) => [
		{ place, line: operation.line },
		...(destination === undefined ? [] : [{ place: destination, line: operation.line + 1 }]),
	]);
	for (const { place, line } of places) {
		const [key, user] = [keyOf(place), `${place.path} (line ${line})`];
		const other = users.get(key);
		if (other !== undefined) return refused(`two operations on one path: ${other} and ${user}`);
		users.set(key, user);
	}
	for (const { place } of places)
		for (const [index] of place.missing.entries()) {
			const other = users.get(
				keyOf({ ...place, missing: place.missing.slice(0, index), name: place.missing[index] ?? "" }),
			);
			if (other !== undefined) return refused(`${place.path} needs a directory where ${other} is a file`);
		}
	return done(undefined);
};

const hasTooManyLines = (text: string): boolean => {
	let lines = 0;
	for (let at = text.indexOf("\n"); at !== -1 && lines <= LINES_MAX; at = text.indexOf("\n", at + 1)) lines += 1;
	return lines > LINES_MAX;
};

/** What stands at a place, which must be text of a size that can be worked on, or a link where `links`. */
const readText = async (
	place: Place,
	limits: Limits,
	links: boolean,
): Promise<Outcome<{ original: Original; text: string }>> => {
	const read = await readOriginal(place);
	if (!read.ok) return read;
	const { kind, bytes } = read.value;
	if (kind === "link")
		return links ? done({ original: read.value, text: "" }) : refused("it is a link; give the path it leads to");
	limits.bytes -= bytes.length;
	if (limits.bytes < 0) return refused(`the files of this patch are over ${TOTAL_BYTES} bytes together; split it`);
	const text = strictUtf8(bytes);
	if (text === undefined) return refused("it is not UTF-8 text; change it with bash");
	if (hasTooManyLines(text)) return refused(`it has over ${LINES_MAX} lines; change it with bash`);
	return done({ original: read.value, text });
};

/** Why a new file cannot be made at a place. */
const checkNew = async (place: Place): Promise<Outcome<undefined>> => {
	const why = await occupied(place);
	if (why !== undefined) return refused(why);
	await checkWritable(place, false);
	return done(undefined);
};

const textOf = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(""));

const planOne = async ({ operation, place, destination }: Located, limits: Limits): Promise<Outcome<Change>> => {
	const { path, kind: op } = operation;
	if (operation.kind === "add") {
		const free = await checkNew(place);
		if (!free.ok) return free;
		return done({ path, put: { place, bytes: textOf(operation.content) }, report: { path, op } });
	}
	const read = await readText(place, limits, operation.kind === "delete");
	if (!read.ok) return read;
	const { original, text } = read.value;
	await checkWritable(place, operation.kind === "update");
	if (operation.kind === "delete") return done({ path, take: { place, original }, report: { path, op } });
	const edited = applyHunks(text, operation.hunks, limits);
	if (!edited.ok) return edited;
	const { hunks, text: after } = edited.value;
	const bytes = Buffer.from(after);
	if (destination === undefined)
		return done({ path, put: { place, bytes, original, like: original }, report: { path, op, hunks } });
	const free = await checkNew(destination);
	if (!free.ok) return refused(`cannot be moved to ${destination.path}: ${free.why}`);
	const put = { place: destination, bytes, like: original };
	return done({ path, put, take: { place, original }, report: { path, op, moved_to: destination.path, hunks } });
};

/**
 * Computes every file of a patch as it will stand, and checks whatever can be known before anything is written
 * (`spec/tools.md` §10.7). It changes nothing.
 */
export const planPatch = async (operations: readonly Operation[], cwd: string): Promise<Outcome<readonly Change[]>> => {
	const limits: Limits = { ...createBudget(), bytes: TOTAL_BYTES };
	const located = await locateAll(operations, cwd);
	if (!located.ok) return located;
	const apart = checkApart(located.value);
	if (!apart.ok) return apart;
	const changes: Change[] = [];
	for (const one of located.value) {
		const { path } = one.operation;
		try {
			const planned = await planOne(one, limits);
			if (!planned.ok) return refused(`${path}: ${planned.why}`);
			changes.push(planned.value);
		} catch (thrown) {
			return refused(`${path}: ${whyFailed(thrown)}`);
		}
	}
	return done(changes);
};
