import { describe, expect, test } from "vitest";
import { type HoldMark, holdMarkToJson, readHoldMark } from "./hold-mark.ts";

const MARK: HoldMark = {
	tool_use_id: "t1",
	tool: "bash",
	reason: "two\nlines",
	kind: "fault",
	digest: "ab",
	entry: "004",
	since: "2026-01-01T00:00:00Z",
};

describe("hold marks", () => {
	test("are one line and come back whole", () => {
		const text = holdMarkToJson(MARK);
		expect(text).not.toContain("\n");
		expect(readHoldMark(text)).toEqual(MARK);
	});

	test("in the reference's three keys are read as a hold", () => {
		const read = readHoldMark('{"tool_use_id":"t","tool":"bash","reason":"r","more":1}');
		expect(read).toMatchObject({ tool_use_id: "t", kind: "hold", entry: "" });
	});

	test.each([
		"not json",
		"null",
		"[]",
		'{"tool_use_id":"t","tool":"bash"}',
		'{"tool_use_id":1,"tool":"b","reason":"r"}',
	])("%s is none", (text) => {
		expect(readHoldMark(text)).toBeUndefined();
	});
});
