import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
	callDigest,
	callDirectory,
	INPUT_MAX_BYTES,
	percentDecode,
	percentEncode,
	requestLine,
	requestText,
	usableInput,
} from "./call.ts";

describe("arguments of a call", () => {
	test.each([
		["", "{}"],
		["{}", "{}"],
		['{ "a" : 1.0 }', '{"a":1.0}'],
		['{"n":9007199254740993,"1":0}', '{"n":9007199254740993,"1":0}'],
	])("%j is usable and kept as it was written", (text, input) => {
		expect(usableInput(text)).toEqual({ ok: true, input });
	});

	test.each([
		['{"a":1', "not one JSON object", "{}"],
		["[1]", "not one JSON object", "{}"],
		["{} {}", "not one JSON object", "{}"],
		['{"a":1,"a":2}', "occurs twice", '{"a":1,"a":2}'],
		['{"a":"\\ud800"}', "surrogate", '{"a":"\\ud800"}'],
		[`${'{"a":'.repeat(65)}1${"}".repeat(65)}`, "nested deeper", "{}"],
		[`{"a":"${"x".repeat(INPUT_MAX_BYTES)}"}`, "larger than", "{}"],
	])("%.20j… is not usable", (text, why, input) => {
		const usable = usableInput(text);
		expect(usable).toMatchObject({ ok: false, input });
		expect(usable.ok ? "" : usable.why).toContain(why);
	});
});

test("a request as a line is the same text with what would run behind it", () => {
	const call = { id: 't"\n', name: "bash", input: '{"n":1.0}' };
	const caller = { agent: "a", role: "worker" };
	const line = requestLine(call, caller, { program: '/a "b"\n', sha256: "ab", confined: true });
	expect(line).toBe(
		`${requestText(call, caller).slice(0, -1)},"program":"/a \\"b\\"\\n","sha256":"ab","confined":true}`,
	);
	expect(line).not.toContain("\n");
	expect(JSON.parse(requestLine(call, caller, { program: "p", sha256: undefined, confined: false }))).toMatchObject({
		id: 't"\n',
		program: "p",
		sha256: null,
		confined: false,
	});
});

test("the request is five keys in order with the input's own bytes", () => {
	const call = { id: 't"1', name: "bash", input: '{"command":"ls","n":1.0}' };
	const text = requestText(call, { agent: "a", role: "worker" });
	expect(text).toBe('{"id":"t\\"1","name":"bash","input":{"command":"ls","n":1.0},"role":"worker","agent_id":"a"}');
	expect(callDigest(call, { agent: "a", role: "worker" })).toMatch(/^[0-9a-f]{64}$/);
});

describe("the directory of a call", () => {
	test("is the id where that is safe, and else a hash that no safe id can be", () => {
		expect(callDirectory("toolu_01AbC")).toBe("toolu_01AbC");
		fc.assert(
			fc.property(fc.string(), (id) => {
				const directory = callDirectory(id);
				expect(directory).toMatch(/^(?:[A-Za-z0-9_:-][A-Za-z0-9_.:-]{0,127}|~[0-9a-f]{32})$/);
			}),
		);
	});

	test.each(["", ".", "..", "../../x", "a/b", "/abs", "x".repeat(300), "a\0b", ".hidden"])(
		"%j is not used as a name",
		(id) => {
			expect(callDirectory(id)).toMatch(/^~[0-9a-f]{32}$/);
		},
	);
});

test("percent-encoding is reversible and leaves only safe characters", () => {
	fc.assert(
		fc.property(fc.string({ unit: "grapheme" }), (text) => {
			const encoded = percentEncode(text);
			expect(encoded).toMatch(/^[A-Za-z0-9._%-]*$/);
			expect(percentDecode(encoded)).toBe(text);
		}),
	);
});
