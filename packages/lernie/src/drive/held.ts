import { agentRef, LernieError, MARK_ROOT } from "@lernie/contract";
import type { Oid } from "../git/types.ts";
import { readName } from "../workspace/address.ts";
import { readMark } from "../workspace/marks.ts";
import { mapAtMost } from "./at-most.ts";
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

/** Enough for git to have work while answers are read. */
const WIDTH = 64;

const PREFIX = `${MARK_ROOT}held/`;

type Reader = Pick<DriveContext, "repo">;

/** The call a mark parks, undefined where it names no open call. */
const readHeldCall = async ({ repo }: Reader, agent: string, oid: Oid): Promise<HeldCall | undefined> => {
	const tip = await repo.resolve(agentRef(agent));
	if (tip === undefined) return undefined;
	const [mark, state, name] = await Promise.all([
		readMark(repo, oid),
		readTranscriptTail(repo, tip),
		readName(repo, tip),
	]);
	if (!isLive(mark, state)) return undefined;
	const call = state.window?.calls.find(({ id }) => id === mark.tool_use_id);
	if (call === undefined) return undefined;
	const { entry, kind, reason, digest, since, tool_use_id, tool } = mark;
	return {
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
	};
};

const rethrow = (_: string, fault: LernieError): void => {
	throw fault;
};

/**
 * Every parked call of the workspace, oldest first. A mark that names no open call is not listed. An agent whose record cannot
 * be read is handed to `onUnreadable`, so that it need not hide the others; without it that is thrown.
 */
export const listHeld = async (context: Reader, onUnreadable = rethrow): Promise<readonly HeldCall[]> => {
	const found = await mapAtMost(WIDTH, await context.repo.list(PREFIX), async ({ ref, oid }) => {
		const agent = ref.slice(PREFIX.length);
		try {
			return (await readHeldCall(context, agent, oid)) ?? [];
		} catch (thrown) {
			if (!(thrown instanceof LernieError)) throw thrown;
			onUnreadable(agent, thrown);
			return [];
		}
	});
	return found.flat().sort((a, b) => (a.since === b.since ? (a.agent < b.agent ? -1 : 1) : a.since < b.since ? -1 : 1));
};
