import { type Block, readEntry } from "@lernie/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	EMPTY,
	foldEntries,
	openCalls,
	type ReadEntry,
	readEntryOf,
	type TranscriptState,
} from "./transcript-state.ts";

let number = 0;
const ref = (side: "user" | "assistant" | "tool", origin: string) => {
	number += 1;
	return { number, side, origin, oid: String(number) };
};
const user = (text: string, origin = "user"): ReadEntry => readEntryOf(ref("user", origin), { text });
const assistant = (...ids: readonly string[]): ReadEntry => {
	const blocks = ids.map((id): Block => ({ type: "tool_use", id, name: `tool-${id}`, input: "{}" }));
	return readEntryOf(ref("assistant", "m"), {
		entry: { blocks: [{ type: "text", text: "t" }, ...blocks], unusable: {} },
	});
};
const result = (id: string): ReadEntry => {
	const text = `[{"type":"tool_result","tool_use_id":"${id}","content":[{"type":"text","text":"r-${id}"}],"is_error":false}]`;
	return readEntryOf(ref("tool", "tool"), { entry: readEntry(text, "x") });
};
const fold = (...entries: readonly ReadEntry[]): TranscriptState => foldEntries(EMPTY, entries);
const open = (state: TranscriptState): readonly string[] => openCalls(state.window).map((call) => call.id);

describe("the open window", () => {
	test("is the calls of the last answer that have no result after it", () => {
		expect(open(fold(user("hi"), assistant("a", "b"), result("a")))).toEqual(["b"]);
	});

	test("does not take an older result of the same id for an answer", () => {
		const state = fold(user("hi"), assistant("call_0"), result("call_0"), assistant("call_0"));
		expect(open(state)).toEqual(["call_0"]);
		expect(state.buried).toBeUndefined();
	});

	test("is buried once a message or another answer lies behind it", () => {
		expect(fold(user("hi"), assistant("a", "b"), result("a"), user("more")).buried?.ids).toEqual(["b"]);
		expect(fold(user("hi"), assistant("a"), assistant()).buried?.ids).toEqual(["a"]);
	});
});

test("entries of one side become one message", () => {
	const state = fold(user("a"), user("b"), assistant("x", "y"), result("x"), result("y"));
	expect(state.messages.map(({ role, content }) => [role, content.length])).toEqual([
		["user", 2],
		["assistant", 3],
		["tool", 2],
	]);
});

test("model calls are counted from the newest message of a person, not of an agent", () => {
	expect(fold(user("a"), assistant("x"), result("x"), user("b", "20260101T000000Z-00000000")).modelCalls).toBe(1);
	expect(fold(user("a"), assistant("x"), result("x"), user("b")).modelCalls).toBe(0);
});

test("folding in parts comes to the same as folding at once", () => {
	const entry = fc.oneof(
		fc.constant(() => user("u")),
		fc.constant(() => assistant("a", "b")),
		fc.constant(() => assistant()),
		fc.constantFrom("a", "b").map((id) => () => result(id)),
	);
	fc.assert(
		fc.property(fc.array(entry, { maxLength: 12 }), fc.nat(12), (makers, cut) => {
			const entries = makers.map((make) => make());
			const parts = foldEntries(fold(...entries.slice(0, cut)), entries.slice(cut));
			expect(parts).toEqual(fold(...entries));
		}),
	);
});
