import { closeSync, fstatSync, openSync, statSync } from "node:fs";
import { tryLock, unlock } from "../process/flock.ts";

/** The kernel lock that says "somebody drives this agent" (`spec/core.md` §13). Dropped by the kernel when we die. */
export interface Lease {
	/** False once the locked directory is no longer the one at its path: somebody replaced it, and may hold the new one. */
	intact(): boolean;
	release(): Promise<void>;
}

/** Longer than a look at the lease takes, which holds it: who means to drive is not turned away by one. */
const LOOK_SECONDS = 0.2;

/**
 * Takes the lease on an existing inbox directory; undefined where another process holds it and still does after
 * `patience` seconds.
 */
export const acquireLease = async (inbox: string, patience = LOOK_SECONDS): Promise<Lease | undefined> => {
	const fd = openSync(inbox, "r");
	let taken = false;
	try {
		taken = await tryLock(fd, patience);
	} finally {
		if (!taken) closeSync(fd);
	}
	if (!taken) return undefined;
	let open = true;
	return {
		intact: () => {
			const held = fstatSync(fd, { bigint: true });
			const there = statSync(inbox, { bigint: true, throwIfNoEntry: false });
			return there !== undefined && there.dev === held.dev && there.ino === held.ino;
		},
		release: async () => {
			if (!open) return;
			open = false;
			try {
				await unlock(fd);
			} finally {
				closeSync(fd);
			}
		},
	};
};

/** Whether somebody drives the agent of this inbox right now; an inbox that is not there is nobody's. */
export const isLeaseHeld = async (inbox: string): Promise<boolean> => {
	if (statSync(inbox, { throwIfNoEntry: false }) === undefined) return false;
	const lease = await acquireLease(inbox, 0);
	await lease?.release();
	return lease === undefined;
};
