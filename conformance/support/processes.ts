import { readdirSync, readFileSync } from "node:fs";
import { type Place, processesNaming } from "./place.ts";

const environmentOf = (pid: number): string => {
	try {
		return readFileSync(`/proc/${pid}/environ`, "utf8");
	} catch {
		return ""; // It ended while we looked.
	}
};

/** What still runs of an agent's calls, by the mark in the environment of everything a call starts (CONTRACTS §7). */
export const ofCalls = (place: Place, agent: string): readonly number[] =>
	processesNaming(place.root).filter((pid) =>
		environmentOf(pid)
			.split("\0")
			.some((entry) => entry.startsWith("LERNIE_CALL=") && entry.includes(`/${agent}/`)),
	);

/** Session and controlling terminal of a process; the terminal is 0 where there is none. */
export const sessionOf = (pid: number): { readonly session: number; readonly terminal: number } => {
	const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	return { session: Number(fields[3]), terminal: Number(fields[4]) };
};

/**
 * Shell text that starts what is hard to end, all of it deaf to SIGTERM: a child that keeps the output open, one with an
 * empty environment in the same group, one in a session of its own, and one in a session of its own whose parent is gone.
 * It goes on once each has said who it is.
 */
export const startFamily = (place: Place, name = "family"): string => {
	const directory = place.path(name);
	const body = (kind: string): string =>
		`trap "" TERM; echo $$ > ${directory}/${kind}.new; mv ${directory}/${kind}.new ${directory}/${kind}; while :; do sleep 1; done`;
	return [
		`mkdir -p ${directory}`,
		`sh -c '${body("child")}' &`,
		`env -i PATH="$PATH" sh -c '${body("bare")}' &`,
		`setsid sh -c '${body("session")}' > /dev/null 2>&1 &`,
		`(setsid sh -c '${body("orphan")}' > /dev/null 2>&1 &)`,
		`for kind in child bare session orphan; do until [ -e ${directory}/$kind ]; do sleep 0.01; done; done`,
	].join("\n");
};

/** The processes of `startFamily`, as far as they have said who they are. */
export const familyOf = (place: Place, name = "family"): readonly number[] =>
	place.exists(name)
		? readdirSync(place.path(name))
				.filter((kind) => !kind.endsWith(".new"))
				.map((kind) => Number(place.read(`${name}/${kind}`)))
		: [];

/** Shell text that prints those of some numbers, given as a shell word, behind which a process runs. */
export const printLiving = (pids: string): string =>
	`for pid in ${pids}; do case "$(cut -d' ' -f3 /proc/$pid/stat 2> /dev/null)" in ''|Z|X) ;; *) echo $pid;; esac; done; true`;

/** Whether a process stands still by SIGSTOP. */
export const isStopped = (pid: number): boolean => /^State:\s+T/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
