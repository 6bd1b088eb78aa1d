import { isUtf8 } from "node:buffer";

/** One value of a JSON text, with the span it was read from; strings and keys are decoded. */
export type JsonNode =
	| { readonly kind: "object"; readonly start: number; readonly end: number; readonly members: readonly JsonMember[] }
	| { readonly kind: "array"; readonly start: number; readonly end: number; readonly items: readonly JsonNode[] }
	| { readonly kind: "string"; readonly start: number; readonly end: number; readonly value: string }
	| { readonly kind: "scalar"; readonly start: number; readonly end: number };

export interface JsonMember {
	readonly key: string;
	readonly value: JsonNode;
}

export type JsonParse = { readonly ok: true; readonly node: JsonNode } | { readonly ok: false; readonly why: string };

/** What `JSON.parse` lets through and a contract must not: both are reported, neither stops the parse. */
export interface JsonDefects {
	readonly duplicateKey: string | undefined;
	readonly loneSurrogate: boolean;
}

class Unreadable extends Error {}

const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Of white space in JSON no character comes after the blank, so that one comparison answers for most. */
const isSpace = (code: number): boolean =>
	code <= 0x20 && (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09);

/** Index just past the closing quote of the string that opens at `start`, or -1. No regex: those run out of stack on megabytes. */
const stringEnd = (text: string, start: number): number => {
	let from = start + 1;
	for (;;) {
		const quote = text.indexOf('"', from);
		if (quote === -1) return -1;
		let slashes = 0;
		while (text[quote - 1 - slashes] === "\\") slashes += 1;
		if (slashes % 2 === 0) return quote + 1;
		from = quote + 1;
	}
};

/** Index of the closing quote of a string that stands for itself, without an escape or a control character; else -1. */
const plainEnd = (text: string, start: number): number => {
	if (text.charCodeAt(start) !== QUOTE) return -1;
	for (let at = start + 1; ; at += 1) {
		const code = text.charCodeAt(at);
		if (code === QUOTE) return at;
		// Past the end the code is NaN, which is not above the blank either.
		if (!(code >= 0x20) || code === BACKSLASH) return -1;
	}
};

const decodeString = (literal: string, at: number): string => {
	try {
		return JSON.parse(literal) as string;
	} catch (thrown) {
		if (thrown instanceof SyntaxError) throw new Unreadable(`a malformed string at offset ${at}`);
		throw thrown;
	}
};

/** How deep arrays and objects may nest where nothing else is said. */
export const JSON_MAX_DEPTH = 512;

/**
 * Reads exactly one JSON value and keeps the span of every part, so that the text itself can be carried on unchanged
 * (DESIGN D16). `maxDepth` counts nested arrays and objects.
 */
export const parseJsonText = (text: string, maxDepth = JSON_MAX_DEPTH): JsonParse => {
	let at = 0;
	const space = (): void => {
		while (isSpace(text.charCodeAt(at))) at += 1;
	};
	const string = (): string => {
		const plain = plainEnd(text, at);
		if (plain !== -1) {
			const decoded = text.slice(at + 1, plain);
			at = plain + 1;
			return decoded;
		}
		const end = text[at] === '"' ? stringEnd(text, at) : -1;
		if (end === -1) throw new Unreadable(`a string was expected at offset ${at}`);
		const decoded = decodeString(text.slice(at, end), at);
		at = end;
		return decoded;
	};
	const object = (start: number, depth: number): JsonNode => {
		const members: JsonMember[] = [];
		at += 1;
		space();
		while (text[at] !== "}") {
			if (members.length > 0) {
				if (text[at] !== ",") throw new Unreadable(`"," or "}" was expected at offset ${at}`);
				at += 1;
				space();
			}
			const key = string();
			space();
			if (text[at] !== ":") throw new Unreadable(`":" was expected at offset ${at}`);
			at += 1;
			members.push({ key, value: value(depth) });
			space();
		}
		at += 1;
		return { kind: "object", start, end: at, members };
	};
	const array = (start: number, depth: number): JsonNode => {
		const items: JsonNode[] = [];
		at += 1;
		space();
		while (text[at] !== "]") {
			if (items.length > 0) {
				if (text[at] !== ",") throw new Unreadable(`"," or "]" was expected at offset ${at}`);
				at += 1;
			}
			items.push(value(depth));
			space();
		}
		at += 1;
		return { kind: "array", start, end: at, items };
	};
	const value = (depth: number): JsonNode => {
		space();
		const start = at;
		const first = text[at];
		if (first === "{" || first === "[") {
			if (depth >= maxDepth) throw new Unreadable(`nested deeper than ${maxDepth}`);
			return first === "{" ? object(start, depth + 1) : array(start, depth + 1);
		}
		if (first === '"') {
			const decoded = string();
			return { kind: "string", start, end: at, value: decoded };
		}
		SCALAR.lastIndex = at;
		if (first === undefined) throw new Unreadable("the text ends where a value was expected");
		if (SCALAR.exec(text) === null) throw new Unreadable(`no JSON value at offset ${at}`);
		at = SCALAR.lastIndex;
		return { kind: "scalar", start, end: at };
	};
	try {
		const node = value(0);
		space();
		if (at !== text.length) throw new Unreadable(`text after the value at offset ${at}`);
		return { ok: true, node };
	} catch (thrown) {
		if (thrown instanceof Unreadable) return { ok: false, why: thrown.message };
		throw thrown;
	}
};

/** The value of an object's member by key, the first one where keys repeat; undefined where there is none. */
export const memberOf = (node: JsonNode, key: string): JsonNode | undefined =>
	node.kind === "object" ? node.members.find((member) => member.key === key)?.value : undefined;

/** Looks through the whole value for repeated keys and unpaired surrogates (DESIGN D16). */
export const defectsOf = (node: JsonNode): JsonDefects => {
	let duplicateKey: string | undefined;
	let loneSurrogate = false;
	const visit = (part: JsonNode): void => {
		if (part.kind === "string") loneSurrogate ||= !part.value.isWellFormed();
		if (part.kind === "array") for (const item of part.items) visit(item);
		if (part.kind !== "object") return;
		const seen = new Set<string>();
		for (const member of part.members) {
			if (seen.has(member.key)) duplicateKey ??= member.key;
			seen.add(member.key);
			loneSurrogate ||= !member.key.isWellFormed();
			visit(member.value);
		}
	};
	visit(node);
	return { duplicateKey, loneSurrogate };
};

export type JsonObjectParse =
	| { readonly ok: true; readonly members: readonly JsonMember[] }
	| { readonly ok: false; readonly why: string };

/** Reads a text that must be one object without a repeated key or an unpaired surrogate anywhere in it. */
export const parseJsonObject = (text: string, maxDepth?: number): JsonObjectParse => {
	const parsed = parseJsonText(text, maxDepth);
	if (!parsed.ok) return parsed;
	if (parsed.node.kind !== "object") return { ok: false, why: "not an object" };
	const { duplicateKey, loneSurrogate } = defectsOf(parsed.node);
	if (duplicateKey !== undefined) return { ok: false, why: `the key ${JSON.stringify(duplicateKey)} occurs twice` };
	if (loneSurrogate) return { ok: false, why: "unpaired surrogate" };
	return { ok: true, members: parsed.node.members };
};

/** Removes the white space outside strings and changes nothing else (CONTRACTS §4). The text must be valid JSON. */
export const compactJson = (text: string): string => {
	const parts: string[] = [];
	let from = 0;
	while (from < text.length) {
		const quote = text.indexOf('"', from);
		const plainEnd = quote === -1 ? text.length : quote;
		parts.push(text.slice(from, plainEnd).replace(/[ \t\n\r]+/g, ""));
		if (quote === -1) break;
		const end = stringEnd(text, quote);
		if (end === -1) return parts.join("") + text.slice(quote);
		parts.push(text.slice(quote, end));
		from = end;
	}
	return parts.join("");
};

/** Decodes UTF-8 without replacing or dropping anything; undefined where the bytes are not UTF-8. A BOM is kept. */
export const strictUtf8 = (bytes: Uint8Array): string | undefined =>
	isUtf8(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8") : undefined;
