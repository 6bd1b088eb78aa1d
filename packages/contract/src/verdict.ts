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

/**
 * Reads a control's whole stdout. The only function of the project that makes a `pass` out of bytes (DESIGN §2, law 2):
 * anything but exactly one well-formed verdict object is not a verdict, with the reason why.
 */
export const parseVerdict = (stdout: Uint8Array): VerdictParse => {
	if (stdout.byteLength > VERDICT_MAX_BYTES) return no(`longer than ${VERDICT_MAX_BYTES} bytes`);
	const text = strictUtf8(stdout);
	if (text === undefined) return no("not UTF-8");
	const parsed = parseJsonObject(text, MAX_DEPTH);
	if (!parsed.ok) return no(parsed.why);
	const { members } = parsed;
	const unknown = members.find(({ key }) => key !== "verdict" && key !== "reason");
	if (unknown !== undefined) return no(`unknown key ${JSON.stringify(unknown.key)}`);
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
