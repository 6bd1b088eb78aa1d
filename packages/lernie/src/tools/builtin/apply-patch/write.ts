import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, link, lstat, open, rename, rmdir, symlink, unlink } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { errnoOf, LernieError } from "@lernie/contract";
import type { CrashPoint } from "../../../workspace/crash.ts";
import { checkUnchanged, type Original } from "./original.ts";
import { done, type Outcome, refused, whyFailed } from "./outcome.ts";
import { inDirectory, makeDirectories, type Within } from "./place.ts";
import type { Change, Put } from "./plan.ts";

/** A finished file beside its place, under a name that nobody uses. */
interface Staged {
	readonly directory: string;
	readonly temporary: string;
}

interface Step {
	readonly path: string;
	/** What happened, should it not be possible to take it back. */
	readonly what: string;
	readonly undo: () => Promise<void>;
}

const NO_LINKS: ReadonlySet<string | undefined> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

const quietly = async (act: Promise<unknown>): Promise<void> => {
	try {
		await act;
	} catch (thrown) {
		whyFailed(thrown); // What is left is named like a leftover; there is no one to tell.
	}
};

const likeOriginal = async (file: FileHandle, { uid, gid, mode }: Original): Promise<void> => {
	const { uid: ownUid, gid: ownGid } = await file.stat();
	if (uid !== ownUid || gid !== ownGid) await quietly(file.chown(uid, gid)); // Only root may give files away.
	await file.chmod(mode);
};

/** Writes a whole file under a new name; nothing is left of one that fails. */
const writeTemporary = async (within: Within, bytes: Buffer, like: Original | undefined): Promise<string> => {
	const name = `.lernie-patch-${randomBytes(8).toString("hex")}`;
	const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
	const file = await open(within(name), flags, like === undefined ? 0o666 : 0o600);
	try {
		await file.writeFile(bytes);
		if (like !== undefined) await likeOriginal(file, like);
		// The name must never come to stand for an empty file, whatever happens to the machine.
		await file.sync();
	} catch (thrown) {
		await quietly(unlink(within(name)));
		throw thrown;
	} finally {
		await file.close();
	}
	return name;
};

/** For file systems without hard links: between the look and the rename somebody else could take the name. */
const nameWithoutLink = async (within: Within, temporary: string, name: string): Promise<void> => {
	const there = await lstat(within(name)).catch((thrown: unknown) => whyFailed(thrown));
	if (typeof there !== "string") throw new LernieError("DISK", "it exists now");
	await rename(within(temporary), within(name));
};

/** Gives a file its name, which nobody may have taken meanwhile. */
const nameNew = async (within: Within, temporary: string, name: string): Promise<void> => {
	try {
		await link(within(temporary), within(name));
	} catch (thrown) {
		if (errnoOf(thrown) === "EEXIST") throw new LernieError("DISK", "it exists now", {}, thrown);
		if (!NO_LINKS.has(errnoOf(thrown))) throw thrown;
		return nameWithoutLink(within, temporary, name);
	}
	await quietly(unlink(within(temporary)));
};

const stage = async ({ place, bytes, like }: Put, made: string[]): Promise<Staged> => {
	const directory = await makeDirectories(place, made);
	return { directory, temporary: await inDirectory(directory, (within) => writeTemporary(within, bytes, like)) };
};

/** Puts what stood at a place there again: in place of what was written, or where nothing is. */
const putBack = async (within: Within, name: string, original: Original, over: boolean): Promise<void> => {
	if (original.kind === "link") return symlink(original.bytes, within(name));
	const temporary = await writeTemporary(within, original.bytes, original);
	try {
		await (over ? rename(within(temporary), within(name)) : nameNew(within, temporary, name));
	} catch (thrown) {
		await quietly(unlink(within(temporary)));
		throw thrown;
	}
};

const doPut = async (path: string, { place, original }: Put, { directory, temporary }: Staged): Promise<Step> => {
	const { name } = place;
	await inDirectory(directory, async (within) => {
		if (original === undefined) return nameNew(within, temporary, name);
		await checkUnchanged(within, name, original);
		await rename(within(temporary), within(name));
	});
	const undo = (): Promise<void> =>
		inDirectory(directory, (within) =>
			original === undefined ? unlink(within(name)) : putBack(within, name, original, true),
		);
	return { path, what: `${place.path} was written`, undo };
};

const doTake = async (path: string, { place, original }: NonNullable<Change["take"]>): Promise<Step> => {
	const { directory, name } = place;
	await inDirectory(directory, async (within) => {
		await checkUnchanged(within, name, original);
		await unlink(within(name));
	});
	const undo = (): Promise<void> => inDirectory(directory, (within) => putBack(within, name, original, false));
	return { path, what: `${place.path} was removed`, undo };
};

/** Takes steps back, the last one first; answers with those that could not be. */
const takeBack = async (steps: readonly Step[]): Promise<readonly (Step & { why: string })[]> => {
	const kept: (Step & { why: string })[] = [];
	for (const step of steps.toReversed()) {
		try {
			await step.undo();
		} catch (thrown) {
			kept.unshift({ ...step, why: whyFailed(thrown) });
		}
	}
	return kept;
};

const explain = (
	path: string,
	why: string,
	kept: readonly (Step & { why: string })[],
	all: readonly string[],
): string => {
	if (kept.length === 0) return `${path}: ${why}; nothing was changed`;
	const applied = new Set(kept.map((step) => step.path));
	const left = all.filter((one) => !applied.has(one)).join(", ");
	const told = kept.map((step) => `${step.what} and could not be taken back (${step.why})`).join(", ");
	return `${path}: ${why}; ${told}; not applied: ${left}`;
};

const cleanUp = async (staged: readonly Staged[], made: readonly string[]): Promise<void> => {
	for (const { directory, temporary } of staged)
		await quietly(inDirectory(directory, (within) => unlink(within(temporary))));
	for (const path of made.toReversed())
		await quietly(inDirectory(dirname(path), (within) => rmdir(within(basename(path)))));
};

/**
 * Puts a planned patch on disk. All new contents are written beside their places first, so that what can fail fails while
 * nothing has changed; then each file gets its name, in the order of the patch. Where that fails, what was done is taken
 * back, and the answer says what could not be.
 */
export const writeChanges = async (changes: readonly Change[], crash: CrashPoint): Promise<Outcome<undefined>> => {
	const made: string[] = [];
	const staged = new Map<Change, Staged>();
	const steps: Step[] = [];
	let at = "";
	try {
		for (const change of changes) {
			at = change.path;
			if (change.put !== undefined) staged.set(change, await stage(change.put, made));
		}
		for (const change of changes) {
			at = change.path;
			const { path, put, take } = change;
			const ready = staged.get(change);
			if (put !== undefined && ready !== undefined) steps.push(await doPut(path, put, ready));
			staged.delete(change);
			if (take !== undefined) steps.push(await doTake(path, take));
			crash("patch.written");
		}
		return done(undefined);
	} catch (thrown) {
		const why = whyFailed(thrown);
		const kept = await takeBack(steps);
		await cleanUp([...staged.values()], made);
		return refused(
			explain(
				at,
				why,
				kept,
				changes.map(({ path }) => path),
			),
		);
	}
};
