import { type AgentState, type DriverRecord, EXIT, LernieError, markRef } from "@lernie/contract";
import { type AgentRef, listAgents, readName } from "../workspace/address.ts";
import { parentOf } from "../workspace/ids.ts";
import { listDeposits } from "../workspace/inbox.ts";
import { inboxDirectory } from "../workspace/layout.ts";
import { readHeld } from "../workspace/marks.ts";
import { readDriverRecord } from "../workspace/steps.ts";
import { readTip } from "./facts.ts";
import { readLastCall } from "./last-call.ts";
import { readOwner } from "./owner.ts";
import { isLive } from "./park.ts";
import type { DriveContext } from "./session.ts";
import { createTranscriptCache, openCalls, readTranscript } from "./transcript-state.ts";

/** One agent as `ls` shows it (CONTRACTS §10). */
export interface AgentStatus {
	readonly id: string;
	readonly name: string;
	readonly role: string;
	readonly state: AgentState;
	readonly parent: string | null;
	readonly entries: number;
	readonly pending_mail: number;
	readonly held: string | null;
	readonly usage: Readonly<Record<string, number>>;
	readonly last_error: { readonly at: string; readonly code: string; readonly message: string } | null;
	readonly founded_at: string;
}

type Reader = Pick<DriveContext, "layout" | "repo">;

/** The time in an id's newest segment. */
const foundedAt = (agent: string): string => {
	const stamp = agent.split("-").at(-2) ?? "";
	return stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z");
};

const DRIVE_FAULTS: readonly number[] = [EXIT.failure, EXIT.modelFailure, EXIT.refused];

/** How the last drive ended, where nothing was committed since, and whether that or the newest model call was a failure. */
export const readLastEnd = (
	{ layout }: Pick<Reader, "layout">,
	{ id, tip }: AgentRef,
): { readonly record: DriverRecord | undefined; readonly failed: boolean } => {
	const newest = readDriverRecord(layout, id);
	const record = newest?.tip === tip ? newest : undefined;
	if (record !== undefined && DRIVE_FAULTS.includes(record.exit)) return { record, failed: true };
	// A stop in the pause after a failed attempt leaves a call that has not failed.
	if (record?.exit === EXIT.stopped) return { record, failed: false };
	const { end, from } = readLastCall(layout, id);
	return { record, failed: end === "failed" && from === tip };
};

/** Reads one agent's state off the disk; holds no lock and writes nothing. The rules come in the order of CONTRACTS §10. */
export const readStatus = async (context: Reader, agent: AgentRef): Promise<AgentStatus> => {
	const { layout, repo } = context;
	const { id, tip } = agent;
	const [name, { facts }, transcript, held, limit, owner] = await Promise.all([
		readName(repo, tip),
		readTip(repo, id),
		readTranscript(repo, tip, createTranscriptCache()),
		readHeld(repo, id),
		repo.resolve(markRef("limit", id)),
		readOwner(repo, id),
	]);
	const mail = listDeposits(inboxDirectory(layout, id)).length;
	const { record, failed } = readLastEnd(context, agent);
	const live = isLive(held?.mark, transcript) ? held?.mark : undefined;
	const state = (): AgentState => {
		if (owner?.alive === true) return "running";
		if (failed) return "failed";
		// A fault that parked its call is one that is held; in the middle of a batch it parks nothing.
		if (record?.exit === EXIT.controlFault && live === undefined) return "failed";
		if (live !== undefined) return "held";
		if (limit === tip) return "limit";
		if (record?.exit === EXIT.stopped) return "stopped";
		if (openCalls(transcript.window).length > 0) return "crashed";
		if (mail > 0 || transcript.tail !== "assistant") return "pending";
		return "done";
	};
	return {
		id,
		name,
		role: facts.role,
		state: state(),
		parent: parentOf(id) ?? null,
		entries: transcript.last,
		pending_mail: mail,
		held: live?.reason ?? null,
		usage: transcript.usage,
		last_error: record === undefined ? null : { at: record.at, code: record.code, message: record.message },
		founded_at: foundedAt(id),
	};
};

/** An agent whose record cannot be read: listed as failed, so that it does not hide the others. */
const unreadable = ({ id }: AgentRef, thrown: unknown): AgentStatus => {
	if (!(thrown instanceof LernieError)) throw thrown;
	return {
		id,
		name: "",
		role: "",
		state: "failed",
		parent: parentOf(id) ?? null,
		entries: 0,
		pending_mail: 0,
		held: null,
		usage: {},
		last_error: { at: foundedAt(id), code: thrown.code, message: thrown.message },
		founded_at: foundedAt(id),
	};
};

/** Every agent of the workspace, oldest first. */
export const listStatus = async (context: Reader): Promise<readonly AgentStatus[]> => {
	const agents = await listAgents(context.repo);
	return Promise.all(
		agents.map((agent) => readStatus(context, agent).catch((thrown: unknown) => unreadable(agent, thrown))),
	);
};
