import { type ModelEvent, strictUtf8 } from "@lernie/contract";

/** An item of a stream after it was looked at: `other` is an event of a later protocol, which is ignored. */
export type ReadEvent =
	| { readonly kind: "event"; readonly event: ModelEvent }
	| { readonly kind: "other" }
	| { readonly kind: "malformed"; readonly why: string };

/** A longer line is no event; who receives it keeps one byte more at most. */
export const LONGEST_LINE_BYTES = 16 * 1024 * 1024;

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
	typeof value === "object" && value !== null && !Array.isArray(value);

const REQUIRED: Readonly<Record<ModelEvent["type"], (event: Readonly<Record<string, unknown>>) => string | undefined>> =
	{
		message_start: () => undefined,
		content_start: ({ index, kind }) =>
			Number.isInteger(index) && isRecord(kind) ? undefined : "needs an index and a kind",
		content_delta: ({ index, delta }) =>
			Number.isInteger(index) && isRecord(delta) ? undefined : "needs an index and a delta",
		content_stop: ({ index }) => (Number.isInteger(index) ? undefined : "needs an index"),
		usage: () => undefined,
		finish: ({ reason }) => (typeof reason === "string" ? undefined : "needs a reason"),
		error: ({ kind }) => (typeof kind === "string" || isRecord(kind) ? undefined : "needs a kind"),
		end: () => undefined,
	};

const isKnown = (type: string): type is ModelEvent["type"] => Object.hasOwn(REQUIRED, type);

/** Sorts out one parsed item. Unknown types are of a later protocol; a known one without its parts is malformed. */
export const readEvent = (value: unknown): ReadEvent => {
	if (!isRecord(value) || typeof value.type !== "string")
		return { kind: "malformed", why: "not an object with a type" };
	if (!isKnown(value.type)) return { kind: "other" };
	const why = REQUIRED[value.type](value);
	if (why !== undefined) return { kind: "malformed", why: `${value.type} ${why}` };
	// The parts this program reads were looked at above; each further one is looked at where it is used.
	return { kind: "event", event: value as unknown as ModelEvent };
};

/** Reads one line of a stream; undefined for a blank one. */
export const readLine = (line: string): ReadEvent | undefined => {
	if (line.trim() === "") return undefined;
	try {
		return readEvent(JSON.parse(line));
	} catch (thrown) {
		if (thrown instanceof SyntaxError) return { kind: "malformed", why: "not JSON" };
		throw thrown;
	}
};

/** The same of a line as it came over a wire. */
export const readLineBytes = (bytes: Uint8Array): ReadEvent | undefined => {
	if (bytes.length > LONGEST_LINE_BYTES) return { kind: "malformed", why: "longer than 16 MiB" };
	const line = strictUtf8(bytes);
	return line === undefined ? { kind: "malformed", why: "not UTF-8" } : readLine(line);
};
