import { closeSync, openSync } from "node:fs";
import { LernieError } from "@lernie/contract";
import { tryLock } from "../process/flock.ts";
import type { Layout } from "./layout.ts";

/** A founding takes milliseconds; only one that was stopped in the middle keeps others waiting. */
const PATIENCE_SECONDS = 5;

/**
 * Runs `work` while no other process founds an agent in this workspace: between the look at the names that are taken and
 * the ref that takes another, nobody else may do the same. A kernel lock, so a process that dies cannot keep it; on the
 * record's directory, which every workspace has. Throws `REFUSED` where another founding does not come to its end.
 */
export const whileFounding = async <T>(layout: Layout, work: () => Promise<T>): Promise<T> => {
	const fd = openSync(layout.repo, "r");
	try {
		if (!(await tryLock(fd, PATIENCE_SECONDS)))
			throw new LernieError(
				"REFUSED",
				"another process has been starting an agent here for 5 seconds: it may be suspended. End it, or let it go on",
				{ seconds: PATIENCE_SECONDS },
			);
		return await work();
	} finally {
		// Drops the lock. A child that was just forked can keep the descriptor for an instant; others wait that long.
		closeSync(fd);
	}
};
