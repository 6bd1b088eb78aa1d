import {
	type AgentState,
	agentRef,
	EXIT,
	type ExitCode,
	exitCodeOf,
	faultOf,
	type MarkKind,
	markRef,
	messageOf,
} from "@lernie/contract";
import { removeStaleLocks } from "../git/locks.ts";
import { packLoose } from "../git/pack.ts";
import { createSnapshotCache } from "../git/snapshot.ts";
import { timestamp } from "../workspace/effects.ts";
import { type Deposit, listDeposits } from "../workspace/inbox.ts";
import { inboxDirectory } from "../workspace/layout.ts";
import { acquireLease, type Lease } from "../workspace/lease.ts";
import { appendDriverRecord } from "../workspace/steps.ts";
import { closeControls } from "./governing.ts";
import { type HopOutcome, hop } from "./hop.ts";
import { wake } from "./launch.ts";
import { isOwner, takeOwnership } from "./owner.ts";
import { endBackground, endLeft } from "./recover.ts";
import type { DriveContext, Session } from "./session.ts";
import { createTranscriptCache } from "./transcript-state.ts";

export interface DriveOptions {
	readonly agent: string;
	/** Exactly one hop, then release (D7). */
	readonly oneHop: boolean;
	/** Taken by the caller; it is released here. */
	readonly lease: Lease;
}

export interface DriveEnd {
	readonly state: AgentState;
	readonly exit: ExitCode;
	readonly message: string | undefined;
}

const MARKS: readonly MarkKind[] = ["held", "cwd", "owner", "limit"];

/** What one drive keeps from turn to turn: caches by content, and the controls it started. */
type Kept = Pick<
	Session,
	"snapshots" | "transcripts" | "descriptions" | "lastStep" | "governing" | "startedAt" | "atStop"
>;

const openSession = async (
	context: DriveContext,
	{ agent, oneHop }: DriveOptions,
	lease: Lease,
	kept: Kept,
): Promise<Session> => {
	const refs = [agentRef(agent), ...MARKS.map((kind) => markRef(kind, agent))];
	const removed = await removeStaleLocks(context.repo.gitDir, refs);
	for (const path of removed)
		context.emit({ type: "notice", code: "LOCK_REMOVED", message: `removed ${path}, left by a git that was killed` });
	const session = {
		...context,
		...kept,
		agent,
		lease,
		owner: await takeOwnership(context.repo, agent, lease, context.effects),
	};
	await endLeft(session, oneHop);
	return session;
};

const endOf = (outcome: HopOutcome): DriveEnd => {
	switch (outcome.kind) {
		case "continue":
			return { state: outcome.answered ? "done" : "pending", exit: EXIT.done, message: undefined };
		case "rest":
			return { state: "done", exit: EXIT.done, message: undefined };
		case "stopped":
			return { state: "stopped", exit: EXIT.stopped, message: "told to stop" };
		case "faulted":
			return { state: "failed", exit: EXIT.controlFault, message: outcome.reason };
		case "limit":
			return { state: "limit", exit: EXIT.limit, message: outcome.why };
		case "held":
			return { state: "held", exit: outcome.by === "hold" ? EXIT.held : EXIT.controlFault, message: outcome.reason };
		default:
			return outcome satisfies never;
	}
};

/** Mail that nobody looked at before the release: same name, another time, is another message (`spec/core.md` §14.5). */
const unseen = (inbox: string, seen: readonly Deposit[]): readonly Deposit[] =>
	listDeposits(inbox).filter(
		({ file, modified }) => !seen.some((old) => old.file === file && old.modified === modified),
	);

const runHops = async (session: Session, oneHop: boolean): Promise<HopOutcome> => {
	for (;;) {
		const outcome = await hop(session);
		if (outcome.kind !== "continue" || oneHop) return outcome;
	}
};

const END_CODES: ReadonlyMap<ExitCode, string> = new Map([
	[EXIT.held, "HELD"],
	[EXIT.stopped, "STOPPED"],
	[EXIT.limit, "LIMIT"],
	[EXIT.controlFault, "CONTROL_FAULT"],
]);

const recordEnd = async (session: Session, code: string, message: string, exit: ExitCode): Promise<void> => {
	// A driver that lost its agent writes nothing more about it.
	if (!(await isOwner(session))) return;
	const tip = (await session.repo.resolve(agentRef(session.agent))) ?? "";
	appendDriverRecord(session.layout, session.agent, { at: timestamp(session.effects.now()), code, message, exit, tip });
};

/**
 * Leaves the agent: the lease is dropped, then the inbox is looked at once more. Answers the lease again where mail came in
 * that nobody has seen (the release rule); after a single hop whoever asked for it goes on. A process that was told to stop
 * takes nothing on: mail that lay there by then waits, and so does what the agent sends itself in its last call; for later
 * mail another driver is started.
 */
const release = async (session: Session, outcome: HopOutcome, oneHop: boolean): Promise<Lease | undefined> => {
	const { layout, agent, effects, stop } = session;
	const inbox = inboxDirectory(layout, agent);
	const seen = [...("seen" in outcome ? outcome.seen : []), ...(session.atStop.mail ?? [])];
	effects.crash("release.before");
	await session.lease.release();
	effects.crash("release.after");
	const mail = unseen(inbox, seen);
	if (mail.length === 0) return undefined;
	if (!stop.aborted) return oneHop ? undefined : acquireLease(inbox);
	if (mail.every(({ sender }) => sender === agent)) return undefined;
	await wake(layout, agent, effects).catch((thrown: unknown) => {
		// Nothing is lost: it is delivered whenever somebody drives the agent.
		const message = `a message came in and no driver could be started for it: ${messageOf(thrown)}`;
		session.emit({ type: "notice", code: "NOT_WOKEN", message });
	});
	return undefined;
};

/** What runs for an agent is another driver's once that one took over. */
const leaveNothingRunning = async (session: Session): Promise<void> => {
	if (await isOwner(session)) await endBackground(session);
};

interface Turn {
	readonly end: DriveEnd;
	/** The lease of the next turn, where mail came in while this one ended. */
	readonly next: Lease | undefined;
}

const driveOnce = async (context: DriveContext, options: DriveOptions, lease: Lease, kept: Kept): Promise<Turn> => {
	const { oneHop } = options;
	let session: Session | undefined;
	try {
		session = await openSession(context, options, lease, kept);
		const outcome = await runHops(session, oneHop);
		// Between two single hops of one drive the background goes on.
		if (!oneHop || outcome.kind !== "continue" || outcome.answered) await leaveNothingRunning(session);
		const end = endOf(outcome);
		const code = END_CODES.get(end.exit);
		if (code !== undefined) await recordEnd(session, code, end.message ?? "", end.exit);
		const next = await release(session, outcome, oneHop);
		return { end, next };
	} catch (thrown) {
		const fault = faultOf(thrown);
		if (session !== undefined) {
			// On a full disk these fail as well; what is told is the fault that ended the drive.
			await leaveNothingRunning(session).catch(() => undefined);
			await recordEnd(session, fault.code, fault.message, exitCodeOf(fault)).catch(() => undefined);
		}
		throw fault;
	} finally {
		await lease.release();
	}
};

/** Keeps the record quick to read, once nobody waits for this drive; that it could not be done is no fault of the drive. */
const tidy = async ({ repo, emit }: DriveContext): Promise<void> => {
	try {
		await packLoose(repo.gitDir);
	} catch (thrown) {
		emit({ type: "notice", code: "NOT_PACKED", message: faultOf(thrown).message });
	}
};

/**
 * Drives an agent until it rests: the one loop behind `run` and `advance` (D7). Throws the `LernieError` that ended the drive; the record is then as the last commit left it.
 */
export const drive = async (context: DriveContext, options: DriveOptions): Promise<DriveEnd> => {
	const inbox = inboxDirectory(context.layout, options.agent);
	const kept: Kept = {
		startedAt: context.effects.now().getTime(),
		snapshots: createSnapshotCache(),
		transcripts: createTranscriptCache(),
		descriptions: new Map(),
		lastStep: { number: undefined },
		governing: new Map(),
		atStop: { mail: undefined },
	};
	const onStop = (): void => {
		kept.atStop.mail = listDeposits(inbox);
	};
	if (context.stop.aborted) onStop();
	else context.stop.addEventListener("abort", onStop, { once: true });
	let turn: Turn;
	try {
		turn = await driveOnce(context, options, options.lease, kept);
		while (turn.next !== undefined) turn = await driveOnce(context, options, turn.next, kept);
	} finally {
		context.stop.removeEventListener("abort", onStop);
		await closeControls(kept.governing);
	}
	if (!context.stop.aborted) await tidy(context);
	return turn.end;
};
