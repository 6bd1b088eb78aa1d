import { readdirSync, readlinkSync, statSync, unlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { errnoOf, LernieError, messageOf } from "@lernie/contract";
import { checkRefName } from "./refs.ts";

// A git whose driver was killed finishes within milliseconds; its lock is not taken away under it.
const REF_LOCK_AGE_MS = 1000;
const PACKED_LOCK_AGE_MS = 10_000;

const ageMs = (path: string): number | undefined => {
	try {
		return Date.now() - statSync(path).mtimeMs;
	} catch (error) {
		if (["ENOENT", "ENOTDIR"].includes(errnoOf(error) ?? "")) return undefined;
		throw new LernieError("DISK", `${path} cannot be looked at: ${messageOf(error)}`, { path }, error);
	}
};

const remove = (path: string): boolean => {
	try {
		unlinkSync(path);
		return true;
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return false;
		throw new LernieError("DISK", `${path} cannot be removed: ${messageOf(error)}`, { path }, error);
	}
};

const list = (path: string): string[] => {
	try {
		return readdirSync(path);
	} catch {
		// A process that ended, or one of another user, whose descriptors cannot be seen.
		return [];
	}
};

const leadsTo = (link: string, path: string): boolean => {
	try {
		return readlinkSync(link) === path;
	} catch {
		// The descriptor was closed meanwhile.
		return false;
	}
};

const isOpenSomewhere = (path: string): boolean =>
	list("/proc")
		.filter((name) => /^\d+$/.test(name))
		.some((pid) => list(`/proc/${pid}/fd`).some((fd) => leadsTo(`/proc/${pid}/fd/${fd}`, path)));

const waitForAge = async (path: string): Promise<boolean> => {
	for (;;) {
		const age = ageMs(path);
		if (age === undefined) return false;
		// A lock from the future says that the clock was set back, and not how old it is.
		if (Math.abs(age) >= REF_LOCK_AGE_MS) return true;
		await sleep(Math.min(20, REF_LOCK_AGE_MS - age));
	}
};

/**
 * Removes the lock files that a killed git left for the given refs, and `packed-refs.lock` when it is older than 10 s and no
 * process has it open (CONTRACTS §7). Only for the holder of the lease of the agent these refs belong to. Waits up to 1 s for
 * a lock that is younger than that. Returns the paths it removed; throws LernieError DISK.
 */
export const removeStaleLocks = async (gitDir: string, refs: readonly string[]): Promise<string[]> => {
	const root = resolve(gitDir);
	const removed: string[] = [];
	for (const ref of refs) {
		checkRefName(ref);
		const path = join(root, `${ref}.lock`);
		if ((await waitForAge(path)) && remove(path)) removed.push(path);
	}
	const packed = join(root, "packed-refs.lock");
	const age = ageMs(packed);
	if (age !== undefined && age > PACKED_LOCK_AGE_MS && !isOpenSomewhere(packed) && remove(packed)) removed.push(packed);
	return removed;
};
