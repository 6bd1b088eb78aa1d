import { closeSync, readdirSync } from "node:fs";
import { readProc } from "./identity.ts";

const CLOSE_ON_EXEC = 0o2000000;

/**
 * Closes what the process was handed beside its three streams: a descriptor that is not close-on-exec was inherited, and
 * every tool would inherit it in turn, with whatever key lies behind it (DESIGN D10). To be called before anything is
 * opened. Where the kernel does not tell, nothing is closed.
 */
export const closeInherited = (): void => {
	let fds: readonly string[];
	try {
		fds = readdirSync("/proc/self/fd");
	} catch {
		// Not Linux.
		return;
	}
	for (const fd of fds.map(Number).filter((number) => number > 2)) {
		const flags = /^flags:\s*(\d+)/m.exec(readProc(`/proc/self/fdinfo/${fd}`)?.toString("latin1") ?? "")?.[1];
		if (flags !== undefined && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) closeSync(fd);
	}
};
