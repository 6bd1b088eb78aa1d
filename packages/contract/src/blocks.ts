import { LernieError } from "./error.ts";
import { type JsonNode, memberOf, parseJsonText } from "./json-text.ts";

export interface TextBlock {
	readonly type: "text";
	readonly text: string;
}

/** `input` is the compact JSON text the model sent; it is never parsed and printed again (DESIGN D16). */
export interface ToolUseBlock {
	readonly type: "tool_use";
	readonly id: string;
	readonly name: string;
	readonly input: string;
	readonly signature?: string;
}

export interface ToolResultBlock {
	readonly type: "tool_result";
	readonly tool_use_id: string;
	readonly content: readonly TextBlock[];
	readonly is_error: boolean;
}

/** A block of a kind this program does not act on, carried verbatim as its JSON text (DESIGN D15). */
export interface OtherBlock {
	readonly type: "other";
	readonly json: string;
}

export type Block = TextBlock | ToolUseBlock | ToolResultBlock | OtherBlock;

/** One block as compact JSON, a tool input as the bytes it arrived in. */
export const blockToJson = (block: Block): string => {
	switch (block.type) {
		case "other":
			return block.json;
		case "tool_use": {
			const signature = block.signature === undefined ? "" : `,"signature":${JSON.stringify(block.signature)}`;
			return `{"type":"tool_use","id":${JSON.stringify(block.id)},"name":${JSON.stringify(block.name)},"input":${block.input}${signature}}`;
		}
		case "text":
			return JSON.stringify({ type: "text", text: block.text });
		case "tool_result":
			return JSON.stringify({
				type: "tool_result",
				tool_use_id: block.tool_use_id,
				content: block.content,
				is_error: block.is_error,
			});
		default:
			return block satisfies never;
	}
};

/** What a transcript entry of the assistant or of a tool holds (`spec/core.md` §9.2). */
export interface Entry {
	readonly blocks: readonly Block[];
	/** Token counters as reported, as JSON text; absent where the provider reported none. */
	readonly usage?: string;
	/** Tool-use ids whose arguments were not kept, with the reason the model is told (CONTRACTS §4). */
	readonly unusable: Readonly<Record<string, string>>;
}

/** The bytes of an assistant entry. */
export const entryToJson = (entry: Entry): string => {
	const usage = entry.usage === undefined ? "" : `,"usage":${entry.usage}`;
	const unusable = Object.keys(entry.unusable).length === 0 ? "" : `,"unusable":${JSON.stringify(entry.unusable)}`;
	return `{"content":[${entry.blocks.map(blockToJson).join(",")}]${usage}${unusable}}`;
};

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

/**
 * Reads the bytes of a `.json` transcript entry, as an object with `content` or as a bare array of blocks.
 * Throws `TRANSCRIPT` where it is neither; `label` names the file in that error.
 */
export const readEntry = (text: string, label: string): Entry => {
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
