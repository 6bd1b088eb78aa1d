import { readdirSync, readFileSync } from "node:fs";
import { errnoOf, type ProcessRecord } from "@lernie/contract";

/** One line of `/proc/<pid>/stat`, as far as groups need it. */
export interface ProcessStat {
	readonly pid: number;
	readonly state: string;
	readonly pgid: number;
	readonly session: number;
	/** Field 22, in clock ticks since boot. */
	readonly startTime: string;
}

/** Reads a file of `/proc`, which may vanish or be another user's at any moment. */
export const readProc = (path: string): Buffer | undefined => {
	try {
		return readFileSync(path);
	} catch (thrown) {
		const errno = errnoOf(thrown);
		if (errno === "ENOENT" || errno === "ESRCH" || errno === "EACCES" || errno === "EPERM") return undefined;
		throw thrown;
	}
};

/** Parses a stat line. The name in parentheses may hold blanks and parentheses, so fields count from the last `)`. */
export const parseStat = (line: string): ProcessStat | undefined => {
	const pid = Number(line.slice(0, line.indexOf(" ")));
	const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
	const [state, , pgid, session] = fields;
	const startTime = fields[19];
	if (state === undefined || pgid === undefined || session === undefined || startTime === undefined) return undefined;
	return { pid, state, pgid: Number(pgid), session: Number(session), startTime };
};

export const readStat = (pid: number): ProcessStat | undefined => {
	const line = readProc(`/proc/${pid}/stat`);
	return line === undefined ? undefined : parseStat(line.toString("latin1"));
};

export const listPids = (): number[] =>
	readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));

export const bootId = (): string => (readProc("/proc/sys/kernel/random/boot_id")?.toString("latin1") ?? "").trim();

/** Dead but not yet collected by its parent: such a process runs nothing and does not count as alive. */
export const isDead = (stat: ProcessStat): boolean => stat.state === "Z" || stat.state === "X";

/** What tells the process `pid` from any later one of the same number; undefined where there is no such process. */
export const processIdentity = (pid: number): ProcessRecord | undefined => {
	const stat = readStat(pid);
	return stat === undefined ? undefined : { pgid: stat.pgid, start_time: stat.startTime, boot_id: bootId() };
};
