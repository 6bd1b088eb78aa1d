import {
	type AgentState,
	agentRef,
	EXIT,
	type ExitCode,
	exitCodeOf,
	faultOf,
	type MarkKind,
	markRef,
} from "@lernie/contract";
import { removeStaleLocks } from "../git/locks.ts";
import { createSnapshotCache } from "../git/snapshot.ts";
import { makeDirectory } from "../workspace/durable.ts";
import { timestamp } from "../workspace/effects.ts";
import { type Deposit, listDeposits } from "../workspace/inbox.ts";
import { inboxDirectory } from "../workspace/layout.ts";
import { acquireLease, type Lease } from "../workspace/lease.ts";
import { appendDriverRecord } from "../workspace/steps.ts";
import { closeControls } from "./governing.ts";
import { type HopOutcome, hop } from "./hop.ts";
import { takeOwnership } from "./owner.ts";
import { endLeftPrograms } from "./recover.ts";
import type { DriveContext, Session } from "./session.ts";
import { createTranscriptCache } from "./transcript-state.ts";

export interface DriveOptions {
	readonly agent: string;
	/** Exactly one hop, then release (D7). */
	readonly oneHop: boolean;
	/** A lease the caller took already, as founding does; it is released here. */
	readonly lease?: Lease;
}

export interface DriveEnd {
	readonly state: AgentState;
	readonly exit: ExitCode;
	readonly message: string | undefined;
}

const MARKS: readonly MarkKind[] = ["held", "cwd", "owner", "limit"];

/** What one drive keeps from turn to turn: caches by content, and the controls it started. */
type Kept = Pick<Session, "snapshots" | "transcripts" | "descriptions" | "lastStep" | "governing" | "startedAt">;

const openSession = async (context: DriveContext, agent: string, lease: Lease, kept: Kept): Promise<Session> => {
	const refs = [agentRef(agent), ...MARKS.map((kind) => markRef(kind, agent))];
	const removed = await removeStaleLocks(context.repo.gitDir, refs);
	for (const path of removed)
		context.emit({ type: "notice", code: "LOCK_REMOVED", message: `removed ${path}, left by a git that was killed` });
	const owner = await takeOwnership(context.repo, agent, context.effects);
	await endLeftPrograms({ layout: context.layout, agent });
	return { ...context, ...kept, agent, lease, owner };
};

const endOf = (outcome: HopOutcome): DriveEnd => {
	switch (outcome.kind) {
		case "continue":
			return { state: outcome.answered ? "done" : "pending", exit: EXIT.done, message: undefined };
		case "rest":
			return { state: "done", exit: EXIT.done, message: undefined };
		case "limit":
			return { state: "limit", exit: EXIT.limit, message: outcome.why };
		case "held":
			return { state: "held", exit: outcome.by === "hold" ? EXIT.held : EXIT.controlFault, message: outcome.reason };
		default:
			return outcome satisfies never;
	}
};

/** Mail that nobody looked at before the release: same name, another time, is another message (`spec/core.md` §14.5). */
const unseen = (inbox: string, seen: readonly Deposit[]): boolean =>
	listDeposits(inbox).some(({ file, modified }) => !seen.some((old) => old.file === file && old.modified === modified));

const runHops = async (session: Session, oneHop: boolean): Promise<HopOutcome> => {
	for (;;) {
		const outcome = await hop(session);
		if (outcome.kind !== "continue" || oneHop) return outcome;
	}
};

const END_CODES: ReadonlyMap<ExitCode, string> = new Map([
	[EXIT.held, "HELD"],
	[EXIT.limit, "LIMIT"],
	[EXIT.controlFault, "CONTROL_FAULT"],
]);

const recordEnd = async (session: Session, code: string, message: string, exit: ExitCode): Promise<void> => {
	const tip = (await session.repo.resolve(agentRef(session.agent))) ?? "";
	appendDriverRecord(session.layout, session.agent, { at: timestamp(session.effects.now()), code, message, exit, tip });
};

/**
 * Leaves the agent: the lease is dropped, then the inbox is looked at once more. Answers whether mail came in that nobody
 * has seen and that this process has to take care of (the release rule); after a single hop whoever asked for it goes on.
 */
const release = async (session: Session, outcome: HopOutcome, oneHop: boolean): Promise<Lease | undefined> => {
	const inbox = inboxDirectory(session.layout, session.agent);
	const seen = outcome.kind === "held" ? outcome.seen : [];
	session.effects.crash("release.before");
	await session.lease.release();
	session.effects.crash("release.after");
	return !oneHop && unseen(inbox, seen) ? acquireLease(inbox) : undefined;
};

interface Turn {
	readonly end: DriveEnd;
	/** The lease of the next turn, where mail came in while this one ended. */
	readonly next: Lease | undefined;
}

const driveOnce = async (
	context: DriveContext,
	{ agent, oneHop }: DriveOptions,
	lease: Lease,
	kept: Kept,
): Promise<Turn> => {
	let session: Session | undefined;
	try {
		session = await openSession(context, agent, lease, kept);
		const outcome = await runHops(session, oneHop);
		const end = endOf(outcome);
		const code = END_CODES.get(end.exit);
		if (code !== undefined) await recordEnd(session, code, end.message ?? "", end.exit);
		const next = await release(session, outcome, oneHop);
		return { end, next };
	} catch (thrown) {
		const fault = faultOf(thrown);
		// A driver that lost its agent writes nothing more about it.
		if (session !== undefined && fault.code !== "OWNER_LOST")
			// On a full disk this fails as well; what is told is the fault that ended the drive.
			await recordEnd(session, fault.code, fault.message, exitCodeOf(fault)).catch(() => undefined);
		throw fault;
	} finally {
		await lease.release();
	}
};

/**
 * Drives an agent until it rests: the one loop behind `run` and `advance` (D7). Answers at once where another process
 * drives it. Throws the `LernieError` that ended the drive; the record is then as the last commit left it.
 */
export const drive = async (context: DriveContext, options: DriveOptions): Promise<DriveEnd> => {
	const inbox = inboxDirectory(context.layout, options.agent);
	makeDirectory(inbox);
	const kept: Kept = {
		startedAt: context.effects.now().getTime(),
		snapshots: createSnapshotCache(),
		transcripts: createTranscriptCache(),
		descriptions: new Map(),
		lastStep: { number: undefined },
		governing: new Map(),
	};
	let lease = options.lease ?? (await acquireLease(inbox));
	let end: DriveEnd = { state: "running", exit: EXIT.done, message: undefined };
	try {
		while (lease !== undefined) {
			const turn = await driveOnce(context, options, lease, kept);
			end = turn.end;
			lease = turn.next;
		}
	} finally {
		await closeControls(kept.governing);
	}
	return end;
};
