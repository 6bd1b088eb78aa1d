import { callDirectory, type ToolCall, usableInput } from "@lernie/contract";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { shippedTools } from "./definitions.ts";
import {
	aggregate,
	type EntryResult,
	innerCalls,
	innerDirectory,
	MULTI_TOOL,
	type MultiCall,
	parseMultiCall,
	recordDirectories,
} from "./multi-tool.ts";

const parsed = (text: string): MultiCall => {
	const result = parseMultiCall(text);
	if (!result.ok) throw new Error(result.text);
	return result.multi;
};

const refusal = (text: string): string => {
	const result = parseMultiCall(text);
	return result.ok ? "" : result.text;
};

const list = (length: number): string => `{"invocations":[${Array(length).fill('{"name":"a"}').join()}]}`;

describe("an envelope", () => {
	test("has its defaults, and every word it can be given", () => {
		expect(parsed('{"invocations":[{"name":"a"}]}')).toEqual({
			invocations: [{ name: "a", input: "{}" }],
			onFailure: "abort",
			execution: "serial",
		});
		expect(parsed('{"execution":"parallel","on_failure":"run_all","invocations":[]}')).toEqual({
			invocations: [],
			onFailure: "run_all",
			execution: "parallel",
		});
		expect(parsed('{"on_failure":"abort","execution":"serial","invocations":[]}')).toMatchObject({
			onFailure: "abort",
			execution: "serial",
		});
	});

	test.each([
		['{"n":9007199254740993,"f":1.0,"e":1E+2}', '{"n":9007199254740993,"f":1.0,"e":1E+2}'],
		['{"b":1,"a":2,"1":3}', '{"b":1,"a":2,"1":3}'],
		['{ "s" : "a  b\\u0061\\n" ,\n"l":[ 1 , -0 ] }', '{"s":"a  b\\u0061\\n","l":[1,-0]}'],
		['"a string"', '"a string"'],
		["null", "null"],
		["[1, 2]", "[1,2]"],
		["-0.0", "-0.0"],
	])("carries the input %s with the bytes it had", (input, carried) => {
		expect(parsed(`{"invocations":[{"name":"a","input":${input}},{"name":"b"}]}`).invocations).toEqual([
			{ name: "a", input: carried },
			{ name: "b", input: "{}" },
		]);
	});

	test("names a tool as the name reads, not as it is written", () => {
		expect(parsed('{"invocations":[{"input":{},"name":"b\\u0061sh"}]}').invocations[0]?.name).toBe("bash");
	});

	test("holds a hundred invocations and no more", () => {
		expect(parsed(list(100)).invocations).toHaveLength(100);
		expect(refusal(list(101))).toContain("more than 100 invocations");
	});

	test.each([
		["", "the text ends"],
		["{", "expected"],
		["{} {}", "after the value"],
		["null", "the input is not an object"],
		["[]", "the input is not an object"],
		['"invocations"', "the input is not an object"],
		["{}", '"invocations" is not a list'],
		['{"invocations":"x"}', '"invocations" is not a list'],
		['{"invocations":{}}', '"invocations" is not a list'],
		['{"invocations":null}', '"invocations" is not a list'],
		['{"Invocations":[]}', 'unknown key "Invocations" in the input'],
		['{"invocations":[],"extra":1}', 'unknown key "extra" in the input'],
		['{"invocations":[],"__proto__":1}', 'unknown key "__proto__" in the input'],
		['{"invocations":[],"on_failure":"stop"}', '"on_failure" is not one of abort, run_all'],
		['{"invocations":[],"on_failure":null}', '"on_failure" is not one of'],
		['{"invocations":[],"on_failure":["abort"]}', '"on_failure" is not one of'],
		['{"invocations":[],"execution":"Parallel"}', '"execution" is not one of serial, parallel'],
		['{"invocations":[],"execution":true}', '"execution" is not one of'],
		['{"invocations":[{}]}', "invocation 1 has no name"],
		['{"invocations":[{"name":"a"},{"input":{}}]}', "invocation 2 has no name"],
		['{"invocations":[{"name":7}]}', "invocation 1 has no name"],
		['{"invocations":[{"name":null}]}', "invocation 1 has no name"],
		['{"invocations":[{"name":"a"},"b"]}', "invocation 2 is not an object"],
		['{"invocations":[["a"]]}', "invocation 1 is not an object"],
		['{"invocations":[null]}', "invocation 1 is not an object"],
		['{"invocations":[{"name":"a","id":"x"}]}', 'unknown key "id" in invocation 1'],
		['{"invocations":[{"name":"a","arguments":{}}]}', 'unknown key "arguments" in invocation 1'],
	])("%s is malformed", (text, why) => {
		const told = refusal(text);
		expect(told).toContain(why);
		expect(told).toMatch(/^multi_tool: malformed envelope: .*\. Nothing ran\. Expected \{"invocations": \[/);
	});

	test("says no more of a key than a line", () => {
		expect(refusal(`{"invocations":[],"${"k".repeat(1_000_000)}":1}`).length).toBeLessThan(400);
	});

	test("is read or refused whatever the text is, and never throws", () => {
		const json = fc.oneof(
			fc.json(),
			fc.string(),
			fc
				.record(
					{
						invocations: fc.oneof(
							fc.array(fc.record({ name: fc.oneof(fc.string(), fc.integer()), input: fc.jsonValue() })),
							fc.jsonValue(),
						),
						on_failure: fc.constantFrom("abort", "run_all", "x", null),
						execution: fc.constantFrom("serial", "parallel", "x", 0),
					},
					{ requiredKeys: [] },
				)
				.map((value) => JSON.stringify(value)),
		);
		fc.assert(
			fc.property(json, (text) => {
				const result = parseMultiCall(text);
				if (!result.ok) {
					expect(result.text).toContain("multi_tool: malformed envelope");
					return;
				}
				const value = JSON.parse(text) as { invocations: { name: string; input?: unknown }[] };
				expect(result.multi.invocations.map(({ name, input }) => [name, JSON.parse(input)])).toEqual(
					value.invocations.map(({ name, input = {} }) => [name, input]),
				);
			}),
		);
	});

	test("is read from arguments that were made usable with every inner value's own bytes", () => {
		fc.assert(
			fc.property(fc.array(fc.json(), { maxLength: 5 }), fc.boolean(), (inputs, spaced) => {
				const gap = spaced ? "\n  " : "";
				const items = inputs.map((input) => `{${gap}"name":"a",${gap}"input":${gap}${input}}`).join(`,${gap}`);
				const usable = usableInput(`{${gap}"invocations":${gap}[${items}]}`);
				fc.pre(usable.ok);
				expect(parsed(usable.input).invocations.map(({ input }) => input)).toEqual(
					inputs.map((input) => usableInput(`{"x":${input}}`).input.slice('{"x":'.length, -1)),
				);
			}),
		);
	});

	test("is what its schema says", () => {
		const schema = JSON.parse(shippedTools.get(MULTI_TOOL)?.schema ?? "") as {
			properties: Record<string, { enum?: string[]; items?: { properties: object; required: string[] } }>;
			required: string[];
		};
		const { invocations, on_failure: onFailure, execution } = schema.properties;
		for (const word of onFailure?.enum ?? []) expect(refusal(`{"invocations":[],"on_failure":"${word}"}`)).toBe("");
		for (const word of execution?.enum ?? []) expect(refusal(`{"invocations":[],"execution":"${word}"}`)).toBe("");
		expect([onFailure?.enum?.length, execution?.enum?.length]).toEqual([2, 2]);
		expect(Object.keys(schema.properties)).toEqual(["invocations", "on_failure", "execution"]);
		expect([schema.required, invocations?.items?.required]).toEqual([["invocations"], ["name"]]);
		expect(Object.keys(invocations?.items?.properties ?? {})).toEqual(["name", "input"]);
	});
});

const batch = (id: string, length: number): ToolCall => ({ id, name: MULTI_TOOL, input: list(length) });

describe("the directory of an inner call", () => {
	test("the ids count from one", () => {
		expect(innerCalls(batch("t1", 3), parsed(list(3))).map(({ id }) => id)).toEqual(["t1-1", "t1-2", "t1-3"]);
	});

	test.each([
		["t1-1", ["t1"], "t1-1"],
		["t1-1", ["t1", "t1-1"], "t1-1.m"],
		["t1-1", ["t1-1", "t1-1.m", "t1"], "t1-1.m.m"],
		["t1-2", ["t1", "t1-1", "t1-1.m"], "t1-2"],
		["t1-1", ["t1", "t1-1.m"], "t1-1"],
		["a/b-1", ["a/b"], callDirectory("a/b-1")],
		["a/b-1", ["a/b", "a/b-1"], `${callDirectory("a/b-1")}.m`],
		["-1", ["", "-1"], "-1.m"],
		[`${"x".repeat(126)}-1`, ["x".repeat(126)], `${"x".repeat(126)}-1`],
		[`${"x".repeat(127)}-1`, ["x".repeat(127)], callDirectory(`${"x".repeat(127)}-1`)],
	])("%s beside %j is %s", (id, siblings, directory) => {
		expect(innerDirectory(id, siblings)).toBe(directory);
	});

	test("recovery looks where the calls went", () => {
		expect(recordDirectories(batch("t1", 2), ["t1", "t1-2"])).toEqual(["t1-1", "t1-2.m"]);
		expect(recordDirectories({ id: "t1", name: "bash", input: list(2) }, ["t1"])).toEqual(["t1"]);
		for (const input of ["{}", "[", list(101)])
			expect(recordDirectories({ id: "t1", name: MULTI_TOOL, input }, ["t1"])).toEqual([]);
	});

	test("no two calls of a message share one, whatever their ids are", () => {
		const hostile = fc.oneof(
			fc.constantFrom("", ".", "..", "t1", "t1-1", "t1-1.m", "t1-1.m.m", "t1-1-1", "t1-2", "a/b", "a/b-1", "-1", "~"),
			fc.constantFrom(callDirectory("a/b-1"), `${callDirectory("a/b-1")}.m`, "x".repeat(127), `${"x".repeat(127)}-1`),
			fc.constantFrom("\ud800", "\ud800-1", "\u{1F600}", "t1\0", " t1", "T1-1"),
			fc.string(),
		);
		const message = fc
			.uniqueArray(hostile, { minLength: 1, maxLength: 8 })
			.chain((ids) =>
				fc.tuple(fc.constant(ids), fc.array(fc.nat(3), { minLength: ids.length, maxLength: ids.length })),
			);
		fc.assert(
			fc.property(message, ([ids, sizes]) => {
				const all = ids.flatMap((id, at) => {
					const size = sizes[at] ?? 0;
					return recordDirectories(size === 0 ? { id, name: "bash", input: "{}" } : batch(id, size), ids);
				});
				expect(new Set(all).size).toBe(all.length);
				for (const directory of all) expect(directory).toMatch(/^[A-Za-z0-9_:~-][A-Za-z0-9_.:-]{0,200}$/);
			}),
			{ numRuns: 500 },
		);
	});
});

describe("the aggregate", () => {
	test("of nothing is a line, and no error", () => {
		expect(aggregate([])).toEqual({ text: "0 invocations: 0 ok, 0 failed, 0 skipped\n", isError: false });
	});

	test("is a tally and a section an entry, each text as it is", () => {
		const entries: EntryResult[] = [
			{ name: "alpha", status: "ok", text: "Exit code: 0\nbuilt\n" },
			{ name: "beta", status: "failed", text: "Exit code: 3\n" },
			{ name: "gamma", status: "declined", text: "no" },
			{ name: "delta", status: "skipped", text: "not now" },
		];
		expect(aggregate(entries)).toEqual({
			text:
				"4 invocations: 1 ok, 2 failed, 1 skipped\n" +
				"\n=== [1/4] alpha: ok ===\nExit code: 0\nbuilt\n\n" +
				"\n=== [2/4] beta: failed ===\nExit code: 3\n\n" +
				"\n=== [3/4] gamma: declined ===\nno\n" +
				"\n=== [4/4] delta: skipped ===\nnot now\n",
			isError: true,
		});
		expect(aggregate(entries.slice(0, 1)).isError).toBe(false);
		expect(aggregate(entries.slice(2, 3)).isError).toBe(true);
	});

	test("counts every entry once, and is an error when one failed or was declined", () => {
		const entry = fc.record({
			name: fc.string(),
			status: fc.constantFrom("ok", "failed", "declined", "skipped"),
			text: fc.string(),
		});
		fc.assert(
			fc.property(fc.array(entry), (entries) => {
				const { text, isError } = aggregate(entries);
				const [first = ""] = text.split("\n", 1);
				const [total, ok, failed, skipped] = [...first.matchAll(/\d+/g)].map(([digits]) => Number(digits));
				const of = (status: string): number => entries.filter((one) => one.status === status).length;
				expect([total, ok, failed, skipped]).toEqual([
					entries.length,
					of("ok"),
					of("failed") + of("declined"),
					of("skipped"),
				]);
				expect(isError).toBe(of("failed") + of("declined") > 0);
				const sections = entries.map((one, at) => {
					const head = `\n=== [${at + 1}/${entries.length}] ${one.name}: ${one.status} ===\n`;
					return `${head}${one.text}\n`;
				});
				expect(text.slice(first.length + 1)).toBe(sections.join(""));
			}),
		);
	});
});
