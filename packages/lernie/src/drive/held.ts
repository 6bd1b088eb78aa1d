import { agentRef, MARK_ROOT } from "@lernie/contract";
import { readName } from "../workspace/address.ts";
import { readMark } from "../workspace/marks.ts";
import { isLive } from "./park.ts";
import type { DriveContext } from "./session.ts";
import { readTranscriptTail } from "./transcript-state.ts";

/** One parked call as `held` shows it (CONTRACTS §10). `effects` and `rule` are null for a control that states none. */
export interface HeldCall {
	readonly agent: string;
	readonly name: string;
	readonly entry: string;
	readonly tool_use_id: string;
	readonly tool: string;
	/** Compact JSON text of the arguments. */
	readonly input: string;
	readonly kind: "hold" | "fault";
	readonly reason: string;
	readonly digest: string;
	readonly since: string;
	readonly effects: null;
	readonly rule: null;
}

const PREFIX = `${MARK_ROOT}held/`;

/** Every parked call of the workspace, oldest first. A mark that names no open call is not listed. */
export const listHeld = async ({ repo }: Pick<DriveContext, "repo">): Promise<readonly HeldCall[]> => {
	const marks = await repo.list(PREFIX);
	const found = await Promise.all(
		marks.map(async ({ ref, oid }): Promise<HeldCall[]> => {
			const agent = ref.slice(PREFIX.length);
			const tip = await repo.resolve(agentRef(agent));
			const mark = await readMark(repo, oid);
			if (tip === undefined) return [];
			const state = await readTranscriptTail(repo, tip);
			const call = isLive(mark, state) ? state.window?.calls.find(({ id }) => id === mark.tool_use_id) : undefined;
			if (call === undefined || mark === undefined) return [];
			const { entry, kind, reason, digest, since, tool_use_id, tool } = mark;
			const name = await readName(repo, tip);
			return [
				{
					agent,
					name,
					entry,
					tool_use_id,
					tool,
					input: call.input,
					kind,
					reason,
					digest,
					since,
					effects: null,
					rule: null,
				},
			];
		}),
	);
	return found.flat().sort((a, b) => (a.since === b.since ? (a.agent < b.agent ? -1 : 1) : a.since < b.since ? -1 : 1));
};
