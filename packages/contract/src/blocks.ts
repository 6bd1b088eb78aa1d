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
