import { describe, expect, test } from "vitest";
import { entryToJson } from "./blocks.ts";
import { readEntry } from "./read-entry.ts";

const roundTrip = (text: string): string => entryToJson(readEntry(text, "x"));

describe("transcript entries", () => {
	test("a tool input goes through byte for byte", () => {
		const text = '{"content":[{"type":"tool_use","id":"t","name":"n","input":{"2":1.0,"1":9007199254740993}}]}';
		expect(roundTrip(text)).toBe(text);
	});

	test("blocks that are not acted on are carried verbatim", () => {
		const thinking = '{"type":"thinking","text":"a","signature":"s","id":"r","encrypted_content":"e"}';
		const text = `{"content":[${thinking},{"type":"redacted_thinking","data":"d"},{"type":"text","text":"hi"}],"usage":{"input_tokens":1}}`;
		expect(roundTrip(text)).toBe(text);
	});

	test("a bare array and an object with unknown siblings are read alike", () => {
		const block = '{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"r"}],"is_error":true}';
		expect(readEntry(`[${block}]`, "x").blocks).toEqual(readEntry(`{"later":1,"content":[${block}]}`, "x").blocks);
	});

	test("what was not usable is kept with its reason", () => {
		const entry = { blocks: [], unusable: { call_1: "cut off" } };
		expect(readEntry(entryToJson(entry), "x").unusable).toMatchObject({ call_1: "cut off" });
	});

	test("an id that every object has is not taken for one of them", () => {
		expect(readEntry('{"content":[]}', "x").unusable.constructor).toBeUndefined();
	});

	test.each(["", "nope", "{}", '{"content":1}', "3"])("%j is a fault that names the file", (text) => {
		expect(() => readEntry(text, "messages/003-tool.json")).toThrow(/messages\/003-tool\.json/);
	});
});
