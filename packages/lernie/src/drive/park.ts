import { callDigest, type HoldMark, holdMarkToJson, markRef, type ToolCall } from "@lernie/contract";
import type { RefOp } from "../git/types.ts";
import { timestamp } from "../workspace/effects.ts";
import type { StandingMark } from "../workspace/marks.ts";
import { entryNumber } from "../workspace/transcript.ts";
import { transact } from "./owner.ts";
import type { Session } from "./session.ts";
import { openCalls, type TranscriptState } from "./transcript-state.ts";

/**
 * Whether a mark speaks of the first open call of the last assistant entry (`spec/tools.md` §13.3). It says that this call
 * and every later one has not started; of an open call before it nothing is certain, so then it is not live.
 */
export const isLive = (mark: HoldMark | undefined, state: TranscriptState): mark is HoldMark => {
	if (mark === undefined || state.window === undefined) return false;
	const sameEntry = mark.entry === "" || mark.entry === entryNumber(state.window.entry);
	return sameEntry && openCalls(state.window)[0]?.id === mark.tool_use_id;
};

export interface Park {
	readonly call: ToolCall;
	readonly role: string;
	readonly entry: number;
	readonly kind: HoldMark["kind"];
	readonly reason: string;
}

/** Writes the hold mark of a call, over the one that stands; `since` stays while the same call is held on (CONTRACTS §6). */
export const writeMark = async (session: Session, park: Park, standing: StandingMark | undefined): Promise<void> => {
	const { repo, agent, effects } = session;
	const entry = entryNumber(park.entry);
	const old = standing?.mark;
	const same = old !== undefined && old.tool_use_id === park.call.id && old.entry === entry;
	const batch = repo.batch();
	const oid = batch.blob(
		holdMarkToJson({
			tool_use_id: park.call.id,
			tool: park.call.name,
			reason: park.reason,
			kind: park.kind,
			digest: callDigest(park.call, { agent, role: park.role }),
			entry,
			since: same ? old.since : timestamp(effects.now()),
		}),
	);
	if (oid !== standing?.oid) {
		await batch.flush();
		await transact(
			session,
			[{ kind: "update", ref: markRef("held", agent), oid, old: standing?.oid }],
			"HOLD_MARK_WRITE",
		);
	}
	effects.crash("mark.written");
};

export const removeMark = (agent: string, standing: StandingMark): RefOp => ({
	kind: "delete",
	ref: markRef("held", agent),
	old: standing.oid,
});

/** Removes a mark that names no open call any more. */
export const sweepMark = async (session: Session, standing: StandingMark): Promise<void> =>
	transact(session, [removeMark(session.agent, standing)], "HOLD_MARK_STALE");
