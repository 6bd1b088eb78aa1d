import { errnoOf, LernieError } from "@lernie/contract";
import { inboxDirectory, isDirectory } from "../workspace/layout.ts";
import { acquireLease, isLeaseHeld } from "../workspace/lease.ts";
import { isAlive, type Owner, readOwner } from "./owner.ts";
import { endEverything } from "./recover.ts";
import type { DriveContext } from "./session.ts";

/** `idle`: nobody drove it. `killed`: it did not end by itself in time. */
export type StopOutcome = "idle" | "stopped" | "killed";

/** A driver ends its children within their grace, answers the open calls and goes; past this it is killed. */
const PATIENCE_MS = 6000;
const POLL_MS = 50;

const send = (pid: number, signal: NodeJS.Signals): void => {
	try {
		process.kill(pid, signal);
	} catch (thrown) {
		// Gone meanwhile is what was wanted.
		if (errnoOf(thrown) !== "ESRCH")
			throw new LernieError("LEASE", `process ${pid}: it cannot be signalled`, { pid }, thrown);
	}
};

type Place = Pick<DriveContext, "layout" | "repo" | "effects">;

/** Waits until the owner is gone; false where it is still there after the patience. */
const gone = async ({ effects }: Place, owner: Owner, patienceMs: number): Promise<boolean> => {
	const deadline = performance.now() + patienceMs;
	while (isAlive(owner)) {
		if (performance.now() >= deadline) return false;
		await effects.sleep(POLL_MS);
	}
	return true;
};

/** The process that drives an agent; a driver that has the lease and has not written itself in yet is waited for. */
const holder = async ({ layout, repo, effects }: Place, agent: string): Promise<Owner | undefined> => {
	const inbox = inboxDirectory(layout, agent);
	const deadline = performance.now() + PATIENCE_MS;
	while (await isLeaseHeld(inbox)) {
		const owner = await readOwner(repo, agent);
		if (owner?.alive === true) return owner;
		if (performance.now() >= deadline)
			throw new LernieError("LEASE", `agent ${agent}: a process that did not say who it is holds its lease`, { agent });
		await effects.sleep(POLL_MS);
	}
	return undefined;
};

/**
 * Ends what a dead driver left. Under the lease, so that nothing of a driver that has begun meanwhile is ended; such a one
 * ends what was left itself.
 */
const endLeftBehind = async ({ layout }: Place, agent: string): Promise<void> => {
	const inbox = inboxDirectory(layout, agent);
	const lease = isDirectory(inbox) ? await acquireLease(inbox) : undefined;
	if (lease === undefined) return;
	try {
		await endEverything({ layout, agent }, async () => {
			if (!lease.intact()) throw new LernieError("OWNER_LOST", `agent ${agent}: its inbox was replaced`, { agent });
		});
	} finally {
		await lease.release();
	}
};

/**
 * Ends the process that drives an agent (CONTRACTS §5): it is told to, and has 6 s to end its children, answer the open
 * calls and go; then it is killed, with every group on its open call records and whatever carries the mark of one of the
 * agent's calls. The next drive then answers for it as for any that died. Where nobody drives, what a killed driver left is
 * ended all the same. Throws `LEASE` where it cannot be signalled.
 */
export const stopAgent = async (place: Place, agent: string): Promise<StopOutcome> => {
	const owner = await holder(place, agent);
	if (owner === undefined) {
		await endLeftBehind(place, agent);
		return "idle";
	}
	send(owner.pid, "SIGTERM");
	if (await gone(place, owner, PATIENCE_MS)) return "stopped";
	send(owner.pid, "SIGKILL");
	await gone(place, owner, PATIENCE_MS);
	await endLeftBehind(place, agent);
	return "killed";
};
