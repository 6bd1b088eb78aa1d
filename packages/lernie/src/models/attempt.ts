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
	take(read: ReadEvent | undefined, line: string): void;
	/**
	 * Judges the attempt after its stream has ended (`spec/tools.md` §18.4). Throws what is never tried again:
	 * `MODEL_MALFORMED`, `MODEL_HALF_STREAM`, `MODEL_HANDSHAKE`. `logged` is quoted where the stream broke off.
	 */
	outcome(logged: () => string): AttemptOutcome;
}

/** The version of the event stream that this program reads. */
const STREAM_VERSION = 1;
const QUOTED_CHARACTERS = 400;

const quote = (text: string): string =>
	text.length > QUOTED_CHARACTERS ? `${text.slice(0, QUOTED_CHARACTERS)}…` : text;

const failureOf = (event: Extract<ModelEvent, { type: "error" }>): Failure => {
	const hint: unknown = event.retry_after_seconds;
	const usable = typeof hint === "number" && Number.isFinite(hint) && hint >= 0;
	return {
		kind: event.kind,
		message: quote(String(event.message ?? "")),
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
	let malformed: { readonly why: string; readonly line: string } | undefined;
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
		outcome(logged) {
			if (malformed !== undefined) {
				const { why, line } = malformed;
				throw new LernieError("MODEL_MALFORMED", `${of} sent a malformed event (${why}): ${quote(line)}`, { row, why });
			}
			if (failure !== undefined) return { kind: "failed", failure };
			if (!ended)
				throw new LernieError("MODEL_HALF_STREAM", `the stream of ${of} broke off; its stderr: ${logged()}`, { row });
			if (start?.v !== STREAM_VERSION) {
				const found = start === undefined ? "no message_start" : `version ${JSON.stringify(start.v)}`;
				const why = `${found}, not version ${STREAM_VERSION}`;
				throw new LernieError("MODEL_HANDSHAKE", `${of} speaks another protocol: ${why}`, { row });
			}
			return { kind: "complete", message: fold.seal() };
		},
	};
};
