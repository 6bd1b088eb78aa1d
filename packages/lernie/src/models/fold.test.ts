import { type Block, entryToJson, type ModelEvent, readEntry } from "@lernie/contract";
import fc from "fast-check";
import { expect, test } from "vitest";
import { foldEvents, uniqueIds } from "./fold.ts";

type Fields = Readonly<Record<string, unknown>>;

const start = (index: number, kind: Fields): ModelEvent => ({ type: "content_start", index, kind });
const delta = (index: number, fields: Fields): ModelEvent => ({ type: "content_delta", index, delta: fields });
const stop = (index: number): ModelEvent => ({ type: "content_stop", index });
const tool = (index: number, id: string, ...json: readonly string[]): readonly ModelEvent[] => [
	start(index, { tool_use: { id, name: "bash" } }),
	...json.map((piece) => delta(index, { json_delta: piece })),
	stop(index),
];
const call = (id: string, input: string): Block => ({ type: "tool_use", id, name: "bash", input });
const json = (events: readonly ModelEvent[]): unknown[] =>
	foldEvents(events).blocks.map((block) => (block.type === "other" ? JSON.parse(block.json) : block));

test("text and arguments are put together, interleaved indexes kept apart, in the order they began", () => {
	const folded = foldEvents([
		start(1, { text: {} }),
		start(0, { tool_use: { id: "a", name: "bash" } }),
		delta(1, { text_delta: "one " }),
		delta(0, { json_delta: '{"n": 1' }),
		delta(1, { text_delta: "two" }),
		delta(0, { json_delta: '.0, "m": 9007199254740993}' }),
		stop(1),
		stop(0),
	]);
	expect(folded.blocks).toEqual([{ type: "text", text: "one two" }, call("a", '{"n":1.0,"m":9007199254740993}')]);
	expect(folded.unusable).toEqual({});
});

test("what is not known, or belongs to no block, is ignored (case 226)", () => {
	const events = [
		{ type: "message_start", v: 1, extra: true },
		start(0, { hologram: {} }),
		delta(0, { text_delta: "lost" }),
		start(1, { text: {} }),
		delta(1, { smell_delta: "lost" }),
		delta(1, { json_delta: "lost" }),
		delta(7, { text_delta: "lost" }),
		delta(1, { text_delta: "kept" }),
		stop(1),
		delta(1, { text_delta: "lost" }),
		stop(9),
	] as readonly ModelEvent[];
	expect(foldEvents(events).blocks).toEqual([{ type: "text", text: "kept" }]);
});

test("thinking keeps signature, id and encrypted content; redacted and server blocks come through whole (D15)", () => {
	expect(
		json([
			start(0, { thinking: { id: "t" } }),
			delta(0, { thinking_delta: "hm" }),
			delta(0, { thinking_delta: "m" }),
			delta(0, { signature_delta: "si" }),
			delta(0, { signature_delta: "g" }),
			delta(0, { encrypted_reasoning_delta: "enc" }),
			stop(0),
			start(1, { thinking: {} }),
			start(2, { redacted_thinking: { data: "xx" } }),
			start(3, { server_tool_use: { id: "s", name: "web_search" } }),
			delta(3, { json_delta: '{"q": 1.0}' }),
			start(4, { web_search_tool_result: { tool_use_id: "s", content: [{ url: "u" }] } }),
		]),
	).toEqual([
		{ type: "thinking", text: "hmm", signature: "sig", id: "t", encrypted_content: "enc" },
		{ type: "thinking", text: "", signature: null },
		{ type: "redacted_thinking", data: "xx" },
		{ type: "server_tool_use", id: "s", name: "web_search", input: { q: 1 } },
		{ type: "web_search_tool_result", tool_use_id: "s", content: [{ url: "u" }] },
	]);
	const [block] = foldEvents([
		start(0, { server_tool_use: { id: "s" } }),
		delta(0, { json_delta: '{"q": 1.0}' }),
	]).blocks;
	expect(block).toEqual({ type: "other", json: '{"type":"server_tool_use","id":"s","input":{"q":1.0}}' });
});

test("the signature of a call is kept", () => {
	const [block] = foldEvents([
		start(0, { tool_use: { id: "a", name: "bash" } }),
		delta(0, { signature_delta: "sig" }),
		stop(0),
	]).blocks;
	expect(block).toEqual({ ...call("a", "{}"), signature: "sig" });
});

test.each<[string, readonly string[], string, string | undefined]>([
	["nothing", [], "{}", undefined],
	["white space", [" \n"], "{}", undefined],
	["cut off", ['{"a": "b'], "{}", "not one JSON object"],
	["no object", ["[1]"], "{}", "not one JSON object"],
	["two objects", ["{}", "{}"], "{}", "not one JSON object"],
	["a repeated key", ['{"a":1,', '"a":2}'], '{"a":1,"a":2}', '"a" occurs twice'],
	["a lone surrogate", ['{"a":"\\ud800"}'], '{"a":"\\ud800"}', "unpaired surrogate"],
])("arguments that are %s", (_, pieces, input, why) => {
	const { blocks, unusable } = foldEvents(tool(0, "a", ...pieces));
	expect(blocks).toEqual([call("a", input)]);
	if (why === undefined) expect(unusable).toEqual({});
	else expect(unusable.a).toContain(why);
});

test("at the output limit the last call's missing or broken arguments are cut off, whole ones are not", () => {
	const finish: ModelEvent = { type: "finish", reason: "length" };
	const cut = (...pieces: readonly string[]) =>
		foldEvents([...tool(0, "a"), ...tool(1, "b", ...pieces).slice(0, -1), finish]);
	expect(cut().unusable).toEqual({ b: "they were cut off" });
	expect(cut('{"x":').unusable).toEqual({ b: "they were cut off" });
	expect(cut('{"x":1}').unusable).toEqual({});
	expect(foldEvents([...tool(0, "a"), start(1, { text: {} }), finish]).unusable).toEqual({});
});

test("each counter is the last that was reported, unknown ones ride along, nothing reported is no usage", () => {
	const usage = (fields: Fields): ModelEvent => ({ type: "usage", ...fields });
	expect(foldEvents([]).usage).toBeUndefined();
	expect(foldEvents([usage({ input_tokens: null })]).usage).toBeUndefined();
	expect(
		foldEvents([
			usage({ input_tokens: 5, output_tokens: 1, cache_read_tokens: null }),
			usage({ output_tokens: 9, input_tokens: null, reasoning_tokens: 2 }),
		]).usage,
	).toBe('{"input_tokens":5,"output_tokens":9,"reasoning_tokens":2}');
});

test.each<[readonly string[], readonly string[]]>([
	[
		["a", "b"],
		["a", "b"],
	],
	[
		["", ""],
		["call~1", "call~2"],
	],
	[
		["a", "a", "a"],
		["a", "a~2", "a~3"],
	],
	[
		["a", "a", "a~2"],
		["a", "a~3", "a~2"],
	],
	[
		["call~1", ""],
		["call~1", "call~2"],
	],
	[
		["", "call~1"],
		["call~2", "call~1"],
	],
	[
		["a~2", "a~2"],
		["a~2", "a~2~2"],
	],
	[
		["__proto__", "__proto__"],
		["__proto__", "__proto__~2"],
	],
])("ids %j become %j (CONTRACTS §4)", (given, expected) => {
	expect(uniqueIds(given)).toEqual(expected);
});

test("ids are unique, none is empty, and an id that was alone is never changed", () => {
	fc.assert(
		fc.property(
			fc.array(fc.constantFrom("", "a", "a~2", "a~3", "call~1", "call~2", "a~2~2"), { maxLength: 9 }),
			(ids) => {
				const unique = uniqueIds(ids);
				expect(new Set(unique).size).toBe(ids.length);
				expect(unique).not.toContain("");
				for (const [at, id] of ids.entries()) if (id !== "" && ids.indexOf(id) === at) expect(unique[at]).toBe(id);
			},
		),
	);
});

test("the reason stands under the id the call got, whatever the id is", () => {
	const { unusable } = foldEvents([...tool(0, "__proto__", "["), ...tool(1, "__proto__", "["), ...tool(2, "", "[")]);
	expect(Object.keys(unusable)).toEqual(["__proto__", "__proto__~2", "call~1"]);
	expect(unusable.constructor).toBeUndefined();
});

test("however a stream is cut into deltas and wherever it ends, the entry reads back as it was folded", () => {
	const piece = fc.oneof(fc.string(), fc.constantFrom('{"a":', "1}", "{}", " ", '"', "\\"));
	const kind = fc.constantFrom<Fields>(
		{ text: {} },
		{ thinking: { id: "t" } },
		{ tool_use: { id: "x", name: "n" } },
		{ tool_use: {} },
		{ server_tool_use: { id: "s" } },
		{ new_thing: {} },
	);
	const event = fc.oneof(
		fc.record({ type: fc.constant("content_start" as const), index: fc.nat(2), kind }),
		fc.record({
			type: fc.constant("content_delta" as const),
			index: fc.nat(2),
			delta: fc.oneof(
				piece.map((text_delta) => ({ text_delta })),
				piece.map((json_delta) => ({ json_delta })),
				piece.map((thinking_delta) => ({ thinking_delta })),
			),
		}),
		fc.record({ type: fc.constant("content_stop" as const), index: fc.nat(2) }),
		fc.record({ type: fc.constant("finish" as const), reason: fc.constantFrom("stop", "length") }),
	);
	fc.assert(
		fc.property(fc.array(event, { maxLength: 30 }), (events) => {
			const folded = foldEvents(events);
			const read = readEntry(entryToJson(folded), "entry");
			expect(read.blocks).toEqual(folded.blocks);
			expect(read.unusable).toEqual({ ...folded.unusable });
		}),
	);
});
