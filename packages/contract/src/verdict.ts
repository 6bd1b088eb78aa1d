import { parseJsonObject, strictUtf8 } from "./json-text.ts";

/** What a control may answer (`spec/tools.md` §12.2). */
export type Verdict =
	| { readonly verdict: "pass" }
	| { readonly verdict: "refuse"; readonly reason: string }
	| { readonly verdict: "hold"; readonly reason: string };

export type VerdictParse =
	| { readonly ok: true; readonly verdict: Verdict }
	| { readonly ok: false; readonly why: string };

export const VERDICT_MAX_BYTES = 64 * 1024;
export const REASON_MAX_BYTES = 16 * 1024;
const MAX_DEPTH = 8;

const no = (why: string): VerdictParse => ({ ok: false, why });

/** The request that a line of a `serve` control must name as the one it answers. */
export interface AskedLine {
	readonly id: string;
}

/**
 * Reads a control's whole answer: its stdout in mode `once`, one line of it in mode `serve`, where `asked` is given and the
 * key `id` must be there and equal to the id that was asked (CONTRACTS §3). The only function of the project that makes a
 * `pass` out of bytes (DESIGN §2, law 2): anything but exactly one well-formed verdict object is not a verdict, with the
 * reason why.
 */
export const parseVerdict = (answer: Uint8Array, asked?: AskedLine): VerdictParse => {
	if (answer.byteLength > VERDICT_MAX_BYTES) return no(`longer than ${VERDICT_MAX_BYTES} bytes`);
	const text = strictUtf8(answer);
	if (text === undefined) return no("not UTF-8");
	const parsed = parseJsonObject(text, MAX_DEPTH);
	if (!parsed.ok) return no(parsed.why);
	const { members } = parsed;
	const known = asked === undefined ? ["verdict", "reason"] : ["verdict", "reason", "id"];
	const unknown = members.find(({ key }) => !known.includes(key));
	if (unknown !== undefined) return no(`unknown key ${JSON.stringify(unknown.key)}`);
	if (asked !== undefined) {
		const id = members.find(({ key }) => key === "id")?.value;
		if (id?.kind !== "string") return no("no id");
		if (id.value !== asked.id) return no(`the id is not ${JSON.stringify(asked.id)}`);
	}
	const word = members.find(({ key }) => key === "verdict")?.value;
	if (word?.kind !== "string") return no("no verdict");
	const given = members.find(({ key }) => key === "reason")?.value;
	const absent = given === undefined || (given.kind === "scalar" && text.slice(given.start, given.end) === "null");
	if (!absent && given.kind !== "string") return no("the reason is not a string");
	const reason = absent || given.kind !== "string" ? undefined : given.value;
	if (reason !== undefined && Buffer.byteLength(reason) > REASON_MAX_BYTES)
		return no(`the reason is longer than ${REASON_MAX_BYTES} bytes`);
	switch (word.value) {
		case "pass":
			return reason === undefined ? { ok: true, verdict: { verdict: "pass" } } : no("a pass carries no reason");
		case "refuse":
		case "hold":
			return reason === undefined
				? no(`a ${word.value} needs a reason`)
				: { ok: true, verdict: { verdict: word.value, reason } };
		default:
			return no(`unknown verdict ${JSON.stringify(word.value)}`);
	}
};
