import { LernieError, type ModelEvent } from "@lernie/contract";
import type { ReadEvent } from "./events.ts";
import { createFold, type Folded } from "./fold.ts";
import type { Failure } from "./retry.ts";

export type AttemptOutcome =
	| { readonly kind: "complete"; readonly message: Folded }
	| { readonly kind: "failed"; readonly failure: Failure };

/** One attempt at a call while its stream is read. */
export interface Attempt {
	/** Takes the next line and what it says; nothing after `end` or a malformed line is acted upon. */
	take(read: ReadEvent | undefined, line: string | Buffer): void;
	/** Whether the outcome is known, whatever may still come. */
	decided(): boolean;
	/**
	 * Judges the attempt after its stream has ended (`spec/tools.md` §18.4). Throws what is never tried again:
	 * `MODEL_MALFORMED`, `MODEL_HALF_STREAM`, `MODEL_HANDSHAKE`. `ending` follows the words that the stream broke off.
	 */
	outcome(ending: () => string): AttemptOutcome;
}

/** The version of the event stream that this program reads. */
const STREAM_VERSION = 1;
const QUOTED_CHARACTERS = 400;

const quote = (line: string | Buffer): string => {
	// No character takes more than four bytes: a line of many megabytes is not made a text for its beginning.
	const text = typeof line === "string" ? line : line.toString("utf8", 0, (QUOTED_CHARACTERS + 1) * 4);
	return text.length > QUOTED_CHARACTERS ? `${text.slice(0, QUOTED_CHARACTERS)}…` : text;
};

const failureOf = (event: Extract<ModelEvent, { type: "error" }>): Failure => {
	// Both came over a wire: they are not what their types promise.
	const hint: unknown = event.retry_after_seconds;
	const message: unknown = event.message ?? "";
	const usable = typeof hint === "number" && Number.isFinite(hint) && hint >= 0;
	return {
		kind: event.kind,
		message: quote(typeof message === "string" ? message : JSON.stringify(message)),
		...(usable ? { retryAfterSeconds: hint } : {}),
	};
};

/** `onText` is told the text of the answer as it comes. */
export const createAttempt = (row: string, onText: (text: string) => void): Attempt => {
	const fold = createFold();
	const of = `model row ${JSON.stringify(row)}`;
	let start: { readonly v: unknown } | undefined;
	let ended = false;
	let failure: Failure | undefined;
	const seal = (): Folded => {
		try {
			return fold.seal();
		} catch (thrown) {
			// What was read without recursion can be too deep to be written with it.
			if (!(thrown instanceof RangeError)) throw thrown;
			const why = "a block is nested too deep";
			throw new LernieError("MODEL_MALFORMED", `the answer of ${of} cannot be kept: ${why}`, { row, why }, thrown);
		}
	};
	let malformed: { readonly why: string; readonly line: string | Buffer } | undefined;
	return {
		take(read, line) {
			if (read === undefined || ended || malformed !== undefined) return;
			if (read.kind === "malformed") malformed = { why: read.why, line };
			if (read.kind !== "event") return;
			const { event } = read;
			if (event.type === "end") ended = true;
			if (event.type === "error") failure ??= failureOf(event);
			if (event.type === "message_start") start ??= event;
			const text = fold.add(event);
			if (text !== "" && failure === undefined) onText(text);
		},
		decided: () => ended || malformed !== undefined || failure !== undefined,
		outcome(ending) {
			if (malformed !== undefined) {
				const { why, line } = malformed;
				throw new LernieError("MODEL_MALFORMED", `${of} sent a malformed event (${why}): ${quote(line)}`, { row, why });
			}
			if (failure !== undefined) return { kind: "failed", failure };
			if (!ended) throw new LernieError("MODEL_HALF_STREAM", `the stream of ${of} broke off${ending()}`, { row });
			if (start?.v !== STREAM_VERSION) {
				const found = start === undefined ? "no message_start" : `version ${JSON.stringify(start.v)}`;
				const why = `${found}, not version ${STREAM_VERSION}`;
				throw new LernieError("MODEL_HANDSHAKE", `${of} speaks another protocol: ${why}`, { row });
			}
			return { kind: "complete", message: seal() };
		},
	};
};
