import type { ModelEvent } from "@lernie/contract";
import type { ScriptEntry, ScriptTool } from "./schema.ts";

const PIECES = 3;

/** Cuts a text into a few pieces, never inside a character; none for the empty text. */
export const pieces = (text: string): readonly string[] => {
	const characters = Array.from(text);
	const size = Math.max(1, Math.ceil(characters.length / PIECES));
	const cut: string[] = [];
	for (let at = 0; at < characters.length; at += size) cut.push(characters.slice(at, at + size).join(""));
	return cut;
};

const firstHalf = (text: string): string => {
	const characters = Array.from(text);
	return characters.slice(0, Math.floor(characters.length / 2)).join("");
};

/** The argument text of a scripted call, undefined where the script gives none. */
const argumentText = ({ input, input_json }: ScriptTool): string | undefined =>
	input_json ?? (input === undefined ? undefined : JSON.stringify(input));

export const messageStart = (n: number, model: string): ModelEvent => ({
	type: "message_start",
	v: 1,
	role: "assistant",
	id: `script_${n}`,
	model,
});

/**
 * The events of an entry: think, say, tools, usage, finish, end (CONTRACTS §9). `n` counts calls from 1.
 * `finish: length` together with tools: the argument text of the last tool is cut in half and its `content_stop` is left
 * out, as when a provider runs into its output limit; a last tool without `input` or `input_json` is left whole.
 */
export const answerEvents = (entry: ScriptEntry, n: number, model: string): readonly ModelEvent[] => {
	const events: ModelEvent[] = [messageStart(n, model)];
	const tools = entry.tools ?? [];
	const finish = entry.finish ?? "stop";
	let index = 0;
	const block = (kind: Readonly<Record<string, unknown>>, delta: string, text: string, stop = true): void => {
		events.push({ type: "content_start", index, kind });
		for (const piece of pieces(text)) events.push({ type: "content_delta", index, delta: { [delta]: piece } });
		if (stop) events.push({ type: "content_stop", index });
		index += 1;
	};
	if (entry.think !== undefined) block({ thinking: {} }, "thinking_delta", entry.think);
	if (entry.say !== undefined) block({ text: {} }, "text_delta", entry.say);
	for (const [position, tool] of tools.entries()) {
		const given = argumentText(tool);
		const cut = finish === "length" && position === tools.length - 1 && given !== undefined;
		const kind = { tool_use: { id: tool.id ?? `call_${position + 1}`, name: tool.name } };
		block(kind, "json_delta", cut ? firstHalf(given) : (given ?? ""), !cut);
	}
	if (entry.usage !== undefined) {
		const reported = Object.entries(entry.usage).filter(([, value]) => value !== undefined);
		events.push({ type: "usage", ...Object.fromEntries(reported) });
	}
	events.push({ type: "finish", reason: finish }, { type: "end" });
	return events;
};
