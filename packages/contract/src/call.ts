import { createHash } from "node:crypto";
import { compactJson, defectsOf, parseJsonText } from "./json-text.ts";

/** A tool call as the harness carries it: `input` is compact JSON text (CONTRACTS §4). */
export interface ToolCall {
	readonly id: string;
	readonly name: string;
	readonly input: string;
}

/** Who calls: its id and the role it plays, as the control is told. */
export interface Caller {
	readonly agent: string;
	readonly role: string;
}

/** Arguments deeper than this, or larger, never reach the gate (CONTRACTS §4). */
export const INPUT_MAX_DEPTH = 64;
export const INPUT_MAX_BYTES = 1.5 * 1024 * 1024;

export type UsableInput =
	| { readonly ok: true; readonly input: string }
	| { readonly ok: false; readonly why: string; readonly input: string };

/**
 * Judges the argument text of a call: one JSON object, no repeated key, no unpaired surrogate, within the limits
 * (CONTRACTS §4, DESIGN D16). The empty text is `{}`. `input` is what the transcript keeps: the compact text, or `{}`
 * where the text is not one JSON object that can be carried on.
 */
export const usableInput = (text: string): UsableInput => {
	if (text.trim() === "") return { ok: true, input: "{}" };
	if (Buffer.byteLength(text) > INPUT_MAX_BYTES)
		return { ok: false, why: `they are larger than ${INPUT_MAX_BYTES} bytes`, input: "{}" };
	const parsed = parseJsonText(text, INPUT_MAX_DEPTH);
	if (!parsed.ok) return { ok: false, why: `they are not one JSON object (${parsed.why})`, input: "{}" };
	if (parsed.node.kind !== "object") return { ok: false, why: "they are not one JSON object", input: "{}" };
	const input = compactJson(text);
	const { duplicateKey, loneSurrogate } = defectsOf(parsed.node);
	if (duplicateKey !== undefined)
		return { ok: false, why: `the key ${JSON.stringify(duplicateKey)} occurs twice`, input };
	if (loneSurrogate || !text.isWellFormed()) return { ok: false, why: "they hold an unpaired surrogate", input };
	return { ok: true, input };
};

/** The bytes of the question a control is asked: five keys in this order, compact, the input's own bytes (CONTRACTS §3). */
export const requestText = (call: ToolCall, caller: Caller): string =>
	`{"id":${JSON.stringify(call.id)},"name":${JSON.stringify(call.name)},"input":${call.input},"role":${JSON.stringify(caller.role)},"agent_id":${JSON.stringify(caller.agent)}}`;

/** What a call was resolved to before it is judged (DESIGN D22). */
export interface CallFacts {
	/** The real path of the program that would run, or `builtin:<name>`. */
	readonly program: string;
	/** The program's digest; undefined where it is no file. */
	readonly sha256: string | undefined;
	readonly confined: boolean;
}

/**
 * The same question as a line, without its newline, for a control that stays (CONTRACTS §3): the five keys, then `program`,
 * `sha256` (null where there is none) and `confined`. The digest of the call stays the one of `requestText`.
 */
export const requestLine = (call: ToolCall, caller: Caller, { program, sha256, confined }: CallFacts): string =>
	`${requestText(call, caller).slice(0, -1)},"program":${JSON.stringify(program)},"sha256":${JSON.stringify(sha256 ?? null)},"confined":${confined}}`;

export const sha256Hex = (bytes: string | Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** The digest of a call: lower-case hex SHA-256 of its request bytes (CONTRACTS §4). */
export const callDigest = (call: ToolCall, caller: Caller): string => sha256Hex(requestText(call, caller));

/** Digits of a digest that people are shown; answers take at least `DIGEST_MIN`. */
export const DIGEST_SHOWN = 12;
export const DIGEST_MIN = 8;

const SAFE_ID = /^[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,127}$/;

/** UTF-8 has no unpaired surrogates: a text with some stands for its JSON form, so that no two become the same bytes. */
const wellFormed = (text: string): string => (text.isWellFormed() ? text : JSON.stringify(text));

/** The directory name of a call's record: the id where it is safe as a name, else a hash of it (`spec/tools.md` §8.1). */
export const callDirectory = (id: string): string =>
	SAFE_ID.test(id) ? id : `~${sha256Hex(wellFormed(id)).slice(0, 32)}`;

/** Percent-encodes every byte outside `[A-Za-z0-9._-]`: a model id in a file name, an id in a trailer (D1, CONTRACTS §2). */
export const percentEncode = (text: string | Uint8Array): string =>
	Array.from(typeof text === "string" ? Buffer.from(wellFormed(text)) : text)
		.map((byte) => {
			const character = String.fromCharCode(byte);
			return /[A-Za-z0-9._-]/.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
		})
		.join("");

/** The text that was percent-encoded; bytes that are not UTF-8 are replaced. */
export const percentDecode = (text: string): string => {
	const bytes = text.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
	return Buffer.from(bytes, "latin1").toString("utf8");
};
