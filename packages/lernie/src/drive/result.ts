import { type Block, blockToJson, percentEncode, type ResultVerdict, type ToolCall, TRAILER } from "@lernie/contract";
import type { RefOp } from "../git/types.ts";
import type { Trailers } from "../workspace/trailers.ts";
import { commitEntry } from "./commit.ts";
import type { Tip } from "./facts.ts";
import type { Session } from "./session.ts";

export interface CallResult {
	readonly call: ToolCall;
	readonly text: string;
	readonly isError: boolean;
	readonly verdict: ResultVerdict;
	/** Who judged it and over which bytes, where it was judged (CONTRACTS §7). */
	readonly judged?: { readonly digest: string; readonly control: string | undefined; readonly confined: boolean };
	readonly ops?: readonly RefOp[];
	/** How the call went, for those who watch; absent where nothing ran. */
	readonly ran?: { readonly exitCode: number | null; readonly ms: number; readonly bytes: number };
}

const trailersOf = ({ call, verdict, judged }: CallResult): Trailers => [
	[TRAILER.call, percentEncode(call.id)],
	[TRAILER.verdict, verdict],
	...(judged === undefined ? [] : [[TRAILER.digest, judged.digest] as const]),
	...(judged?.control === undefined ? [] : [[TRAILER.control, judged.control] as const]),
	...(judged === undefined ? [] : [[TRAILER.confined, judged.confined ? "yes" : "no"] as const]),
];

/** Commits the one result a call gets, with what the directory holds now (`spec/tools.md` §9.3). */
export const commitResult = async (session: Session, tip: Tip, number: number, result: CallResult): Promise<Tip> => {
	const block: Block = {
		type: "tool_result",
		tool_use_id: result.call.id,
		content: [{ type: "text", text: result.text }],
		is_error: result.isError,
	};
	const committed = await commitEntry(session, tip, {
		number,
		side: "tool",
		origin: "tool",
		body: `[${blockToJson(block)}]`,
		trailers: trailersOf(result),
		snapshot: true,
		...(result.ops === undefined ? {} : { ops: result.ops }),
	});
	session.effects.crash("result.ref");
	session.emit({
		type: "result",
		id: result.call.id,
		is_error: result.isError,
		exit_code: result.ran?.exitCode ?? null,
		ms: result.ran?.ms ?? 0,
		bytes: result.ran?.bytes ?? 0,
	});
	return committed;
};
