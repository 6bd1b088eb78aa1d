import type { Block, Entry, TextBlock } from "./blocks.ts";
import { LernieError } from "./error.ts";
import { type JsonNode, memberOf, parseJsonText } from "./json-text.ts";
import { quickEntry } from "./quick-entry.ts";

const stringOf = (node: JsonNode, key: string): string | undefined => {
	const member = memberOf(node, key);
	return member?.kind === "string" ? member.value : undefined;
};

const textBlocks = (node: JsonNode | undefined): TextBlock[] => {
	if (node?.kind !== "array") return [];
	return node.items.flatMap((item) => {
		const text = stringOf(item, "type") === "text" ? stringOf(item, "text") : undefined;
		return text === undefined ? [] : [{ type: "text" as const, text }];
	});
};

const readBlock = (text: string, node: JsonNode): Block => {
	const other = { type: "other", json: text.slice(node.start, node.end) } as const;
	const type = stringOf(node, "type");
	if (type === "text") {
		const body = stringOf(node, "text");
		return body === undefined ? other : { type: "text", text: body };
	}
	if (type === "tool_use") {
		const [id, name, input, signature] = [
			stringOf(node, "id"),
			stringOf(node, "name"),
			memberOf(node, "input"),
			stringOf(node, "signature"),
		];
		if (id === undefined || name === undefined || input === undefined) return other;
		const raw = text.slice(input.start, input.end);
		return { type: "tool_use", id, name, input: raw, ...(signature === undefined ? {} : { signature }) };
	}
	if (type === "tool_result") {
		const id = stringOf(node, "tool_use_id");
		const error = memberOf(node, "is_error");
		const isError = error !== undefined && text.slice(error.start, error.end) === "true";
		if (id === undefined) return other;
		return { type: "tool_result", tool_use_id: id, content: textBlocks(memberOf(node, "content")), is_error: isError };
	}
	return other;
};

/** Ids come from a model and may be `constructor`: the record has no prototype to find that in. */
const readReasons = (node: JsonNode | undefined): Readonly<Record<string, string>> => {
	const reasons: Record<string, string> = Object.create(null);
	if (node?.kind !== "object") return reasons;
	for (const { key, value } of node.members) if (value.kind === "string") reasons[key] = value.value;
	return reasons;
};

const slowEntry = (text: string, label: string): Entry => {
	const parsed = parseJsonText(text);
	if (!parsed.ok)
		throw new LernieError("TRANSCRIPT", `${label} is not a transcript entry: ${parsed.why}`, { file: label });
	const { node } = parsed;
	const content = node.kind === "array" ? node : memberOf(node, "content");
	if (content?.kind !== "array")
		throw new LernieError("TRANSCRIPT", `${label} is not a transcript entry: it has no content`, { file: label });
	const usage = memberOf(node, "usage");
	return {
		blocks: content.items.map((item) => readBlock(text, item)),
		...(usage === undefined ? {} : { usage: text.slice(usage.start, usage.end) }),
		unusable: readReasons(memberOf(node, "unusable")),
	};
};

/**
 * Reads the bytes of a `.json` transcript entry, as an object with `content` or as a bare array of blocks.
 * Throws `TRANSCRIPT` where it is neither; `label` names the file in that error.
 */
export const readEntry = (text: string, label: string): Entry => quickEntry(text) ?? slowEntry(text, label);
