import { type Block, compactJson, parseJsonText, usableInput } from "@lernie/contract";

/** A content block while its deltas arrive. */
export interface OpenBlock {
	readonly tag: string;
	readonly body: Readonly<Record<string, unknown>>;
	text: string;
	json: string;
	signature: string;
	encrypted: string;
}

const SERVER_RESULT = /^[a-z0-9_]+_tool_result$/;
const KINDS: ReadonlySet<string> = new Set(["text", "thinking", "redacted_thinking", "tool_use", "server_tool_use"]);

/** The one kind that `content_start` names, or undefined for one of a later protocol, which contributes nothing. */
export const openBlock = (kind: Readonly<Record<string, unknown>>): OpenBlock | undefined => {
	const tag = Object.keys(kind).find((name) => KINDS.has(name) || SERVER_RESULT.test(name));
	if (tag === undefined) return undefined;
	const given = kind[tag];
	const body = typeof given === "object" && given !== null ? (given as Readonly<Record<string, unknown>>) : {};
	return { tag, body, text: "", json: "", signature: "", encrypted: "" };
};

const DELTAS = {
	text: { text_delta: "text" },
	thinking: { thinking_delta: "text", signature_delta: "signature", encrypted_reasoning_delta: "encrypted" },
	tool_use: { json_delta: "json", signature_delta: "signature" },
	server_tool_use: { json_delta: "json" },
} as const satisfies Record<string, Record<string, "text" | "json" | "signature" | "encrypted">>;

const TARGETS: ReadonlyMap<string, "text" | "json" | "signature" | "encrypted"> = new Map(
	Object.entries(DELTAS).flatMap(([tag, deltas]) =>
		Object.entries(deltas).map(([delta, field]) => [`${tag} ${delta}`, field] as const),
	),
);

/** Adds a delta to its block; one that does not belong to that kind of block is ignored. Returns the text it added, if any. */
export const addDelta = (block: OpenBlock, delta: Readonly<Record<string, unknown>>): string => {
	let added = "";
	for (const [name, piece] of Object.entries(delta)) {
		const field = TARGETS.get(`${block.tag} ${name}`);
		if (field === undefined || typeof piece !== "string") continue;
		block[field] += piece;
		if (block.tag === "text") added += piece;
	}
	return added;
};

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

const other = (fields: Readonly<Record<string, unknown>>): Block => ({ type: "other", json: JSON.stringify(fields) });

/** The kind is what the stream named it; a body that says otherwise could pose as a call. */
const withoutType = ({ type: _, ...rest }: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
	rest;

const thinking = ({ body, text, signature, encrypted }: OpenBlock): Block => {
	const sealed = encrypted || textOf(body.encrypted_content);
	return other({
		type: "thinking",
		text: textOf(body.text) + text,
		signature: signature || textOf(body.signature) || null,
		...(typeof body.id === "string" ? { id: body.id } : {}),
		...(sealed === "" ? {} : { encrypted_content: sealed }),
	});
};

const serverToolUse = ({ body, json }: OpenBlock): Block => {
	const { input, ...rest } = body;
	const head = JSON.stringify({ type: "server_tool_use", ...withoutType(rest) }).slice(0, -1);
	const streamed = parseJsonText(json).ok ? compactJson(json) : undefined;
	return { type: "other", json: `${head},"input":${streamed ?? JSON.stringify(input ?? {})}}` };
};

export interface SealedBlock {
	readonly block: Block;
	/** Why the arguments of a call cannot be used, as the model is told. */
	readonly unusable?: string;
}

const CUT = "they were cut off";

/**
 * The finished form of a block, undefined where it holds nothing. `cut`: the message ended inside this block, so that
 * arguments which are not there at all are not the empty ones (CONTRACTS §4).
 */
export const sealBlock = (open: OpenBlock, cut: boolean): SealedBlock | undefined => {
	const { tag, body } = open;
	switch (tag) {
		case "text": {
			const text = textOf(body.text) + open.text;
			// Providers refuse an empty text block when it is sent back.
			return text === "" ? undefined : { block: { type: "text", text } };
		}
		case "thinking":
			return { block: thinking(open) };
		case "tool_use": {
			const signature = open.signature || textOf(body.signature);
			const usable = usableInput(open.json);
			const block: Block = {
				type: "tool_use",
				id: textOf(body.id),
				name: textOf(body.name),
				input: usable.input,
				...(signature === "" ? {} : { signature }),
			};
			if (cut && (open.json.trim() === "" || !parseJsonText(open.json).ok)) return { block, unusable: CUT };
			return usable.ok ? { block } : { block, unusable: usable.why };
		}
		case "server_tool_use":
			return { block: serverToolUse(open) };
		default:
			return { block: other({ type: tag, ...withoutType(body) }) };
	}
};
