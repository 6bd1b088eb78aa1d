import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compactJson, defectsOf, parseJsonText, strictUtf8 } from "./json-text.ts";

const spaced = (value: unknown): string => JSON.stringify(value, null, 3);

describe("the reader of JSON text", () => {
	test("accepts what JSON.parse accepts and refuses what it refuses", () => {
		fc.assert(
			fc.property(
				fc.oneof(
					fc.json(),
					fc.string(),
					fc.json().map((text) => text.slice(0, -1)),
				),
				(text) => {
					let valid = true;
					try {
						JSON.parse(text);
					} catch {
						valid = false;
					}
					expect(parseJsonText(text).ok).toBe(valid);
				},
			),
		);
	});

	test("gives spans that are the parts themselves", () => {
		const text = ' {"a": [1.0, 9007199254740993], "b": {"c": "x"}} ';
		const parsed = parseJsonText(text);
		if (!parsed.ok || parsed.node.kind !== "object") throw new Error("not read");
		const parts = parsed.node.members.map(({ value }) => text.slice(value.start, value.end));
		expect(parts).toEqual(["[1.0, 9007199254740993]", '{"c": "x"}']);
	});

	test("stops at the depth it was given", () => {
		expect(parseJsonText("[".repeat(65) + "]".repeat(65), 64).ok).toBe(false);
		expect(parseJsonText("[".repeat(64) + "]".repeat(64), 64).ok).toBe(true);
	});

	test("reads a string of several megabytes", () => {
		const text = JSON.stringify('a\\"b'.repeat(1_000_000));
		expect(parseJsonText(text).ok).toBe(true);
		expect(compactJson(text)).toBe(text);
	});
});

describe("compacting", () => {
	test("removes white space outside strings and nothing else", () => {
		fc.assert(
			fc.property(fc.jsonValue(), (value) => {
				expect(compactJson(spaced(value))).toBe(JSON.stringify(value));
			}),
		);
	});

	test("keeps numbers, key order and escapes as they were written", () => {
		expect(compactJson('{ "2": 1.0,\n"1": 9007199254740993, "e": 1E2, "s": "\\u0041 \\" b" }')).toBe(
			'{"2":1.0,"1":9007199254740993,"e":1E2,"s":"\\u0041 \\" b"}',
		);
	});
});

describe("defects", () => {
	const of = (text: string) => {
		const parsed = parseJsonText(text);
		if (!parsed.ok) throw new Error(parsed.why);
		return defectsOf(parsed.node);
	};

	test("finds a repeated key at any depth, however it is escaped", () => {
		expect(of('[{"a":{"b":1,"\\u0062":2}}]').duplicateKey).toBe("b");
		expect(of('{"a":1,"b":{"a":2}}').duplicateKey).toBeUndefined();
	});

	test("finds an unpaired surrogate in values and keys", () => {
		expect(of('{"a":"\\ud800"}').loneSurrogate).toBe(true);
		expect(of('{"\\udc00":1}').loneSurrogate).toBe(true);
		expect(of('{"a":"\\ud83d\\ude00"}').loneSurrogate).toBe(false);
	});
});

test("strict UTF-8 keeps a BOM and refuses anything that is not UTF-8", () => {
	expect(strictUtf8(Buffer.from("\ufeffx"))).toBe("\ufeffx");
	expect(strictUtf8(Buffer.from([0xc3, 0x28]))).toBeUndefined();
});
