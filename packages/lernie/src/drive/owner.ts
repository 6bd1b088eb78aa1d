import { type ErrorCode, LernieError, markRef } from "@lernie/contract";
import type { Repo } from "../git/repo.ts";
import type { Oid, RefOp } from "../git/types.ts";
import { bootId, isDead, processIdentity, readStat } from "../process/identity.ts";
import type { Effects } from "../workspace/effects.ts";
import type { Lease } from "../workspace/lease.ts";
import type { Session } from "./session.ts";

/** The blob behind `refs/lernie/owner/<id>`: which process drives (CONTRACTS §7). */
export interface Owner {
	readonly pid: number;
	readonly start: string;
	readonly boot: string;
	readonly nonce: string;
}

/** The bytes that name this process; the nonce keeps two leases of one process apart. */
export const ownerText = (effects: Effects): string => {
	const identity = processIdentity(process.pid);
	const owner: Owner = {
		pid: process.pid,
		start: identity?.start_time ?? "",
		boot: identity?.boot_id ?? "",
		nonce: effects.random(8).toString("hex"),
	};
	return JSON.stringify(owner);
};

const lost = (agent: string): LernieError =>
	new LernieError("OWNER_LOST", `agent ${agent}: another process took it over; nothing more was written`, { agent });

const ATTEMPTS = 5;

/**
 * Writes this process in as the owner; the lease must be held. From here on an older driver's writes fail. Throws
 * `OWNER_LOST` where the lease was lost before that.
 */
export const takeOwnership = async (repo: Repo, agent: string, lease: Lease, effects: Effects): Promise<Oid> => {
	const batch = repo.batch();
	const oid = batch.blob(ownerText(effects));
	await batch.flush();
	const ref = markRef("owner", agent);
	for (let attempt = 1; ; attempt += 1) {
		const old = await repo.resolve(ref);
		// After the look at the owner: whoever gets the lease from here on writes itself in, and then the compare fails.
		if (!lease.intact()) throw lost(agent);
		const result = await repo.transact([{ kind: "update", ref, oid, old }]);
		if (result.ok) break;
		// It was a driver that had lost its lease and did not know yet: that one looks again as well, and gives up.
		if ((await repo.resolve(ref)) === old || attempt === ATTEMPTS)
			throw new LernieError("GIT", `agent ${agent}: the owner could not be written: ${result.detail}`, { agent });
	}
	effects.crash("owner.written");
	return oid;
};

/**
 * Whether a process that wrote itself in still runs; a number that another process took since does not count, nor does a
 * process that has ended and whose parent was too busy to notice.
 */
export const isAlive = ({ pid, start, boot }: Owner): boolean => {
	const now = readStat(pid);
	return now !== undefined && !isDead(now) && now.startTime === start && bootId() === boot;
};

/** Who last drove an agent, and whether that process is alive: what listings show as running. Takes no lock. */
export const readOwner = async (
	repo: Repo,
	agent: string,
): Promise<(Owner & { readonly alive: boolean }) | undefined> => {
	const oid = await repo.resolve(markRef("owner", agent));
	if (oid === undefined) return undefined;
	let value: Partial<Owner> | null;
	try {
		value = JSON.parse((await repo.blob(oid)).toString("utf8")) as Partial<Owner> | null;
	} catch (thrown) {
		if (thrown instanceof SyntaxError) return undefined;
		throw thrown;
	}
	const { pid, start, boot, nonce = "" } = value ?? {};
	if (typeof pid !== "number" || typeof start !== "string" || typeof boot !== "string") return undefined;
	const owner = { pid, start, boot, nonce };
	return { ...owner, alive: isAlive(owner) };
};

/** Whether this process still owns the agent of its session. */
export const isOwner = async ({ repo, agent, owner, lease }: Session): Promise<boolean> =>
	lease.intact() && (await repo.resolve(markRef("owner", agent))) === owner;

/**
 * Throws `OWNER_LOST` where this process may not act for the agent any more. Asked after a call's start is on disk: who
 * takes over writes itself in first and looks for started calls then, so that one of the two sees the other.
 */
export const confirmOwner = async (session: Session): Promise<void> => {
	if (!(await isOwner(session))) throw lost(session.agent);
};

/** Whether every ref is still as the operations expect it: git was disturbed, as by a repack, and did not find otherwise. */
const asExpected = async (session: Session, ops: readonly RefOp[]): Promise<boolean> => {
	for (const op of ops) if ("old" in op && (await session.repo.resolve(op.ref)) !== op.old) return false;
	return true;
};

/**
 * The one way a driver moves refs: all of `ops` or none, and only while this process owns the agent (DESIGN law 4).
 * Throws `OWNER_LOST` where another driver took over, else `code` (default `GIT`) where git would not do it.
 */
export const transact = async (session: Session, ops: readonly RefOp[], code: ErrorCode = "GIT"): Promise<void> => {
	const { repo, agent, owner } = session;
	if (!session.lease.intact()) throw lost(agent);
	const guarded: readonly RefOp[] = [{ kind: "verify", ref: markRef("owner", agent), old: owner }, ...ops];
	let result = await repo.transact(guarded);
	if (!result.ok && (await asExpected(session, guarded))) result = await repo.transact(guarded);
	if (result.ok) return;
	await confirmOwner(session);
	throw new LernieError(code, `agent ${agent}: git refused the write: ${result.detail}`, { agent });
};
