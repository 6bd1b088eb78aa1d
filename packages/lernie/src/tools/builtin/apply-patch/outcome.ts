import { errnoOf, LernieError, messageOf } from "@lernie/contract";

/** What was asked for, or one line for the model why not. */
export type Outcome<Value> =
	| { readonly ok: true; readonly value: Value }
	| { readonly ok: false; readonly why: string };

export const done = <Value>(value: Value): Outcome<Value> => ({ ok: true, value });

export const refused = (why: string): Outcome<never> => ({ ok: false, why });

const SHOWN = 80;

/** A text of the patch or of a file, for use in a sentence: quoted, and cut where it is long. */
export const quoted = (text: string): string => JSON.stringify(text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text);

/** What a disk fault says of itself, without the path it was met at. Throws what is no disk fault. */
export const whyFailed = (thrown: unknown): string => {
	if (thrown instanceof LernieError && thrown.code === "DISK") return thrown.message;
	if (errnoOf(thrown) === undefined) throw thrown;
	return messageOf(thrown).split(", ")[0] ?? "";
};
