import { setTimeout as sleep } from "node:timers/promises";
import { errnoOf, type ProcessRecord } from "@lernie/contract";
import { bootId, isDead, listPids, type ProcessStat, processIdentity, readProc, readStat } from "./identity.ts";

const POLL_MS = 20;
const ROUNDS = 5;
/** How long a killed group may take to vanish; only a process in an uninterruptible call, or another user's, takes longer. */
const KILLED_MS = 2000;

/** Where the leader is gone, only the environment tells a recorded group from a later one of the same number. */
export interface GroupMark {
	readonly name: string;
	readonly valuePrefix: string;
}

export interface MarkedProcess {
	readonly pid: number;
	readonly value: string;
	/** Its group, fit for `endGroup`. */
	readonly identity: ProcessRecord;
}

/** The living members of the group, and of its session: `set -m` in a shell moves its jobs into groups of their own. */
const livingMembers = (pgid: number): ProcessStat[] =>
	listPids().flatMap((pid) => {
		const stat = readStat(pid);
		return stat !== undefined && !isDead(stat) && (stat.pgid === pgid || stat.session === pgid) ? [stat] : [];
	});

const signalAll = (members: readonly ProcessStat[], signal: NodeJS.Signals): void => {
	for (const pgid of new Set(members.map((member) => member.pgid))) {
		try {
			process.kill(-pgid, signal);
		} catch (thrown) {
			// Gone meanwhile, or another user's: the caller looks at what is left, not at what was sent.
			const errno = errnoOf(thrown);
			if (errno !== "ESRCH" && errno !== "EPERM") throw thrown;
		}
	}
};

const gone = async (pgid: number, withinMs: number): Promise<boolean> => {
	const deadline = performance.now() + withinMs;
	while (livingMembers(pgid).length > 0) {
		if (performance.now() >= deadline) return false;
		await sleep(POLL_MS);
	}
	return true;
};

/**
 * Ends the group led by `pgid` and every group of its session: SIGTERM, at most `graceMs` to comply, SIGKILL. True once
 * no living member is left; false where one outlived SIGKILL. The caller knows that the number is still its own child's.
 */
export const terminateGroup = async (pgid: number, graceMs: number): Promise<boolean> => {
	// 0 is the caller's own group and -1 is everybody: neither is ever a child.
	if (pgid <= 1) return true;
	signalAll(livingMembers(pgid), "SIGTERM");
	if (await gone(pgid, graceMs)) return true;
	// Again in the loop: a member may fork between the look and the signal.
	const deadline = performance.now() + KILLED_MS;
	while (performance.now() < deadline) {
		signalAll(livingMembers(pgid), "SIGKILL");
		if (await gone(pgid, POLL_MS)) return true;
	}
	return false;
};

const carries = (pid: number, mark: GroupMark): string | undefined => {
	const wanted = `${mark.name}=${mark.valuePrefix}`;
	const entry = readProc(`/proc/${pid}/environ`)
		?.toString("utf8")
		.split("\0")
		.find((line) => line.startsWith(wanted));
	return entry?.slice(mark.name.length + 1);
};

/**
 * Whether the recorded group still runs: on the same boot, led by the recorded process or, the leader being gone, with
 * members left. A number that another process took since does not count; with `mark`, neither does a leaderless group
 * none of whose members carries it (after a restart of a container numbers start again under the same boot id).
 */
export const groupAlive = (record: ProcessRecord, mark?: GroupMark): boolean => {
	if (record.boot_id !== bootId() || record.pgid <= 1) return false;
	const leader = readStat(record.pgid);
	if (leader !== undefined && leader.startTime !== record.start_time) return false;
	const members = livingMembers(record.pgid);
	if (members.length === 0) return false;
	return leader !== undefined || mark === undefined || members.some(({ pid }) => carries(pid, mark) !== undefined);
};

/** Ends the recorded group if it is still that group (`groupAlive`). True once none of it is left. */
export const endGroup = async (record: ProcessRecord, graceMs: number, mark?: GroupMark): Promise<boolean> =>
	groupAlive(record, mark) ? terminateGroup(record.pgid, graceMs) : true;

/** The record of the group a process is in: its leader's, or of the process itself where the leader is gone. */
const groupOf = (pid: number): ProcessRecord | undefined => {
	const own = readStat(pid);
	if (own === undefined || isDead(own)) return undefined;
	const record = processIdentity(own.pgid) ?? processIdentity(pid);
	return record === undefined ? undefined : { ...record, pgid: own.pgid };
};

/** Every living process whose first environment holds `name` with a value that begins so, whatever group it is in. */
export const findProcessesByEnvironment = (name: string, valuePrefix: string): MarkedProcess[] =>
	listPids().flatMap((pid) => {
		const value = carries(pid, { name, valuePrefix });
		const identity = value === undefined ? undefined : groupOf(pid);
		return value === undefined || identity === undefined ? [] : [{ pid, value, identity }];
	});

export interface EndMarkedOptions {
	readonly graceMs: number;
	/** Groups that are ended too, if they are still those. */
	readonly recorded?: readonly ProcessRecord[];
	/** Narrows it to some of the mark's values. */
	readonly accept?: (value: string) => boolean;
	/** Asked after each look and before anything is ended; what it throws ends this. */
	readonly confirm?: () => Promise<void>;
}

/**
 * Ends every group with a living member that carries the mark. Again until none is found: what is about to be ended can
 * still start something.
 */
export const endMarked = async (
	mark: GroupMark,
	{ graceMs, recorded = [], accept = () => true, confirm }: EndMarkedOptions,
): Promise<void> => {
	const strays = (): readonly ProcessRecord[] =>
		findProcessesByEnvironment(mark.name, mark.valuePrefix)
			.filter(({ value }) => accept(value))
			.map(({ identity }) => identity);
	for (
		let round = 0, left = [...strays(), ...recorded];
		left.length > 0 && round < ROUNDS;
		round += 1, left = [...strays()]
	) {
		await confirm?.();
		const groups = new Map(left.map((group) => [group.pgid, group]));
		await Promise.all([...groups.values()].map((group) => endGroup(group, graceMs, mark)));
	}
};
