import type { Block, Entry, TextBlock } from "./blocks.ts";
import { JSON_MAX_DEPTH } from "./json-text.ts";

type Value = unknown;
type Fields = Readonly<Record<string, Value>>;

const fieldsOf = (value: Value): Fields | undefined =>
	typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;

const textBlocks = (content: Value): readonly TextBlock[] =>
	Array.isArray(content)
		? content.flatMap((item: Value) => {
				const fields = fieldsOf(item);
				return fields?.type === "text" && typeof fields.text === "string"
					? [{ type: "text" as const, text: fields.text }]
					: [];
			})
		: [];

const blockOf = (value: Value): Block => {
	const fields = fieldsOf(value) ?? {};
	const { type, text, id, name, input, signature, tool_use_id, content, is_error } = fields;
	if (type === "text" && typeof text === "string") return { type, text };
	if (type === "tool_use" && typeof id === "string" && typeof name === "string" && input !== undefined) {
		const call = { type, id, name, input: JSON.stringify(input) } as const;
		return typeof signature === "string" ? { ...call, signature } : call;
	}
	if (type === "tool_result" && typeof tool_use_id === "string")
		return { type, tool_use_id, content: textBlocks(content), is_error: is_error === true };
	return { type: "other", json: JSON.stringify(value) };
};

const reasonsOf = (value: Value): Readonly<Record<string, string>> => {
	const reasons: Record<string, string> = Object.create(null);
	for (const [key, reason] of Object.entries(fieldsOf(value) ?? {}))
		if (typeof reason === "string") reasons[key] = reason;
	return reasons;
};

/** Whether a text has so few opening brackets, in strings or not, that it cannot be nested deeper than any reader goes. */
const isShallow = (text: string): boolean => {
	if (text.length <= JSON_MAX_DEPTH) return true;
	let opened = 0;
	for (let at = 0; at < text.length; at += 1) {
		const code = text.charCodeAt(at);
		if (code === 0x5b || code === 0x7b) opened += 1;
	}
	return opened <= JSON_MAX_DEPTH;
};

/**
 * What `readEntry` reads, for a text that `JSON.parse` and `JSON.stringify` carry there and back to the byte: each part of
 * it then is what its value prints as, so that nothing needs to be cut out of the text. Undefined for any other text. Ten
 * thousand entries are read for one request, and most are of this kind.
 */
export const quickEntry = (text: string): Entry | undefined => {
	if (!isShallow(text)) return undefined;
	let value: Value;
	try {
		value = JSON.parse(text);
	} catch (thrown) {
		if (thrown instanceof SyntaxError) return undefined;
		throw thrown;
	}
	const { content = value, usage, unusable } = fieldsOf(value) ?? {};
	if (!Array.isArray(content) || JSON.stringify(value) !== text) return undefined;
	return {
		blocks: content.map(blockOf),
		...(usage === undefined ? {} : { usage: JSON.stringify(usage) }),
		unusable: reasonsOf(unusable),
	};
};
