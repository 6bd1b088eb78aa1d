import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseVerdict, REASON_MAX_BYTES, VERDICT_MAX_BYTES } from "./verdict.ts";

const parse = (text: string) => parseVerdict(Buffer.from(text));

describe("verdicts", () => {
	test.each([
		['{"verdict":"pass"}', { verdict: "pass" }],
		[' \n{"verdict":"pass"}\n', { verdict: "pass" }],
		['{"verdict":"pass","reason":null}', { verdict: "pass" }],
		['{"verdict":"refuse","reason":""}', { verdict: "refuse", reason: "" }],
		['{"reason":"a\\nb","verdict":"hold"}', { verdict: "hold", reason: "a\nb" }],
	])("%s is one", (text, verdict) => {
		expect(parse(text)).toEqual({ ok: true, verdict });
	});

	test.each([
		"",
		"not json",
		"null",
		'"pass"',
		'["pass"]',
		"{}",
		'{"verdict":"Pass"}',
		'{"verdict":"maybe","reason":"x"}',
		'{"verdict":5}',
		'{"reason":"x"}',
		'{"verdict":"pass","reason":"x"}',
		'{"verdict":"refuse"}',
		'{"verdict":"hold","reason":null}',
		'{"verdict":"refuse","reason":5}',
		'{"verdict":"pass","rewrite":{}}',
		'{"verdict":"refuse","verdict":"pass","reason":"x"}',
		'{"verdict":"hold","reason":"x","reason":"y"}',
		'{"verdict":"pass"} {"verdict":"pass"}',
		'{"verdict":"pass"} trailing',
		'\ufeff{"verdict":"pass"}',
		'{"verdict":"hold","reason":"\\ud800"}',
		`{"verdict":"hold","reason":"${"x".repeat(REASON_MAX_BYTES + 1)}"}`,
		`{"verdict":"pass"}${" ".repeat(VERDICT_MAX_BYTES)}`,
		`{"verdict":"pass","x":${"[".repeat(9)}${"]".repeat(9)}}`,
	])("%.60s is none", (text) => {
		expect(parse(text).ok).toBe(false);
	});

	test.each([
		['{"verdict":"pass","id":"t1"}', { verdict: "pass" }],
		[' {"id":"t\\u0031","reason":null,"verdict":"pass"}\r', { verdict: "pass" }],
		['{"id":"t1","verdict":"hold","reason":"x"}', { verdict: "hold", reason: "x" }],
	])("%s is one where t1 was asked for", (text, verdict) => {
		expect(parseVerdict(Buffer.from(text), { id: "t1" })).toEqual({ ok: true, verdict });
		expect(parse(text).ok).toBe(false);
	});

	test.each([
		['{"verdict":"pass"}', "no id"],
		['{"verdict":"pass","id":null}', "no id"],
		['{"verdict":"pass","id":1}', "no id"],
		['{"verdict":"pass","id":["t1"]}', "no id"],
		['{"verdict":"pass","id":"t2"}', 'the id is not "t1"'],
		['{"verdict":"pass","id":"T1"}', 'the id is not "t1"'],
		['{"verdict":"pass","id":""}', 'the id is not "t1"'],
		['{"verdict":"pass","id":"t2","id":"t1"}', 'the key "id" occurs twice'],
		['{"verdict":"pass","id":"t1","agent_id":"a"}', 'unknown key "agent_id"'],
		['{"verdict":"pass","reason":"x","id":"t1"}', "a pass carries no reason"],
	])("%s is none where t1 was asked for", (text, why) => {
		expect(parseVerdict(Buffer.from(text), { id: "t1" })).toEqual({ ok: false, why });
	});

	test("bytes that are not UTF-8 are none", () => {
		expect(parseVerdict(Buffer.from('{"verdict":"hold","reason":"\xff"}', "latin1")).ok).toBe(false);
	});

	test("where an id was asked for, nothing passes without exactly that id", () => {
		const keys = fc.constantFrom("verdict", "reason", "id", "x");
		const values = fc.constantFrom('"pass"', '"hold"', "null", '"t1"', '"t2"', "1");
		fc.assert(
			fc.property(fc.array(fc.tuple(keys, values), { maxLength: 4 }), (members) => {
				const text = `{${members.map(([key, value]) => `"${key}":${value}`).join(",")}}`;
				const parsed = parseVerdict(Buffer.from(text), { id: "t1" });
				const whole = new Map(members);
				const expected =
					whole.size === members.length &&
					whole.get("verdict") === '"pass"' &&
					whole.get("id") === '"t1"' &&
					(whole.get("reason") ?? "null") === "null" &&
					!whole.has("x");
				expect(parsed.ok && parsed.verdict.verdict === "pass").toBe(expected);
			}),
			{ numRuns: 2000 },
		);
	});

	test("nothing but a lone pass passes, whatever else is tried", () => {
		const keys = fc.constantFrom("verdict", "reason", "x", "__proto__");
		const values = fc.constantFrom('"pass"', '"refuse"', '"hold"', "null", "1", '"why"', '"PASS"');
		fc.assert(
			fc.property(fc.array(fc.tuple(keys, values), { maxLength: 3 }), (members) => {
				const parsed = parse(`{${members.map(([key, value]) => `"${key}":${value}`).join(",")}}`);
				const passes = parsed.ok && parsed.verdict.verdict === "pass";
				const verdicts = members.filter(([key, value]) => key === "verdict" && value === '"pass"').length;
				const rest = members.filter(([key]) => key !== "verdict");
				const harmless = rest.length === 0 || (rest.length === 1 && rest[0]?.[0] === "reason" && rest[0][1] === "null");
				expect(passes).toBe(verdicts === 1 && members.length === 1 + rest.length && harmless);
			}),
		);
	});
});
