import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { faultOf } from "../../config/fixture.ts";
import { type CallFixture, withCall } from "../fixture.ts";
import type { CallContext } from "../types.ts";
import { createScriptedAdapter } from "./adapter.ts";
import { pieces } from "./answer.ts";

const scripted = ({ directory }: CallFixture, text: string) => {
	const file = join(directory, "script.yaml");
	writeFileSync(file, text);
	return createScriptedAdapter("scripted", file);
};

const withScript = (
	text: string,
	act: (play: (context?: Partial<CallContext>) => Promise<unknown>, fixture: CallFixture) => Promise<void>,
) =>
	withCall(async (fixture) => {
		const adapter = scripted(fixture, text);
		await act(
			(context = {}) => fixture.call(adapter, { context: { assistantEntries: 0, newest: {}, ...context } }),
			fixture,
		);
	});

const types = (fixture: CallFixture): unknown[] => fixture.response().map((line) => JSON.parse(line).type);

test("an entry is thought, said and called in that order, in a few deltas", () =>
	withScript(
		`calls:
  - tools:
      - {name: bash, input: {command: ls, n: 1}}
      - {name: bash, input_json: '{"n": 9007199254740993, "m": 1.0}'}
      - {name: cd, id: mine}
    say: Looking around.
    think: Hm.
    usage: {input_tokens: 5, output_tokens: null}
`,
		async (play, fixture) => {
			expect(await play()).toEqual({
				blocks: [
					{ type: "other", json: '{"type":"thinking","text":"Hm.","signature":null}' },
					{ type: "text", text: "Looking around." },
					{ type: "tool_use", id: "call_1", name: "bash", input: '{"command":"ls","n":1}' },
					{ type: "tool_use", id: "call_2", name: "bash", input: '{"n":9007199254740993,"m":1.0}' },
					{ type: "tool_use", id: "mine", name: "cd", input: "{}" },
				],
				usage: '{"input_tokens":5}',
				unusable: {},
				finish: "stop",
			});
			expect(fixture.texts).toEqual(["Looki", "ng ar", "ound."]);
			expect(types(fixture).slice(-3)).toEqual(["usage", "finish", "end"]);
		},
	));

test("the n-th entry answers the call with n-1 assistant entries before it; past the end the call fails for good", () =>
	withScript("calls: [{say: one}, {say: two}]", async (play, { contexts, slept }) => {
		expect(await play({ assistantEntries: 1 })).toMatchObject({ blocks: [{ text: "two" }] });
		const fault = await faultOf(() => play({ assistantEntries: 2 }));
		expect(fault.code).toBe("MODEL_ENDED");
		expect(fault.message).toContain("script.yaml: the script has 2 calls and this is call 3");
		expect([contexts, slept]).toEqual([[], []]);
	}));

test.each([
	["end", "(script ended)"],
	["repeat", "two"],
])("then: %s answers %j past the end", (then, text) =>
	withScript(`calls: [{say: one}, {say: two}]\nthen: ${then}`, async (play) => {
		expect(await play({ assistantEntries: 9 })).toMatchObject({ blocks: [{ text }], finish: "stop" });
	}),
);

test("an expectation is a search in the newest result or message; a miss names file, entry and field", () =>
	withScript("calls: [{expect: {tool_result: '^ok .*2', user: go}, say: fine}]", async (play) => {
		expect(await play({ newest: { toolResult: "ok 1 2 3", user: "let us go" } })).toMatchObject({ finish: "stop" });
		const miss = await faultOf(() => play({ newest: { toolResult: "not ok", user: "go" } }));
		expect(miss.code).toBe("MODEL_SCRIPT");
		expect(miss.message).toContain(
			'script.yaml: calls[0].expect.tool_result: /^ok .*2/ was expected of the newest tool_result; it is "not ok"',
		);
		const none = await faultOf(() => play({ newest: { toolResult: "ok 2" } }));
		expect(none.message).toContain("calls[0].expect.user: /go/ was expected of the newest user; there is none");
	}));

test("attempts fail first, and then the entry answers (cases 217, 218)", () =>
	withScript(
		"calls: [{attempts: [{error: {status: 529}, message: busy}, {error: {kind: transport}, retry_after_seconds: 7}], say: done}]",
		async (play, { slept, retries }) => {
			expect(await play()).toMatchObject({ blocks: [{ text: "done" }] });
			expect(slept).toEqual([250, 7000]);
			expect(retries).toMatchObject([{ error: "status 529: busy" }, { error: "transport: scripted failure" }]);
		},
	));

test("finish: length cuts the last call's arguments in half; a call without arguments stays whole", () =>
	withScript(
		"calls: [{finish: length, tools: [{name: a, input: {x: 1}}, {name: b, input: {y: 12}}]}, {finish: length, tools: [{name: a}]}]",
		async (play, fixture) => {
			expect(await play()).toMatchObject({
				blocks: [{ input: '{"x":1}' }, { input: "{}" }],
				unusable: { call_2: "they were cut off" },
				finish: "length",
			});
			expect(types(fixture).filter((type) => type === "content_stop")).toHaveLength(1);
			expect(await play({ assistantEntries: 1 })).toMatchObject({
				finish: "length",
				unusable: { call_1: /cut off/ as unknown as string },
			});
		},
	));

test("finish: refusal is an answer", () =>
	withScript("calls: [{say: no, finish: refusal}]", async (play) => {
		expect(await play()).toMatchObject({ finish: "refusal" });
	}));

test("events are sent as they are, a text as a line of its own", () =>
	withScript(
		`calls:
  - events: [{type: message_start, v: 1}, {type: later}, {type: content_start, index: 0, kind: {text: {}}}, {type: content_delta, index: 0, delta: {text_delta: x}}, {type: end}, after]
  - events: [{type: message_start, v: 1}, nope]
  - events: []
`,
		async (play, { response }) => {
			expect(await play()).toMatchObject({ blocks: [{ text: "x" }] });
			expect(response().at(-1)).toBe("after");
			expect((await faultOf(() => play({ assistantEntries: 1 }))).code).toBe("MODEL_MALFORMED");
			expect((await faultOf(() => play({ assistantEntries: 2 }))).code).toBe("MODEL_HALF_STREAM");
		},
	));

test("a stalled call begins and then waits until it is stopped", () =>
	withCall(async (fixture) => {
		const adapter = scripted(fixture, "calls: [{stall: true}]");
		const stopper = new AbortController();
		const reason = new Error("stopped");
		const crash = (): void => void setTimeout(() => stopper.abort(reason), 5);
		const effects = { crash, random: (bytes: number) => Buffer.alloc(bytes), sleep: async () => undefined };
		await expect(fixture.call(adapter, { stop: stopper.signal, effects })).rejects.toBe(reason);
		expect(types(fixture)).toEqual(["message_start"]);
	}));

test("a delay is waited for, and ends when the call is stopped", () =>
	withScript("calls: [{delay_ms: 20, say: x}, {delay_ms: 60000, say: x}]", async (play, fixture) => {
		const before = performance.now();
		await play();
		expect(performance.now() - before).toBeGreaterThanOrEqual(19);
		const adapter = scripted(fixture, "calls: [{delay_ms: 60000}]");
		await expect(fixture.call(adapter, { stop: AbortSignal.timeout(5) })).rejects.toMatchObject({
			name: "TimeoutError",
		});
	}));

test.each([
	["", "script.yaml:1:1: calls: missing"],
	["calls: [{sya: x}]", 'script.yaml:1:10: calls[0].sya: unknown key. did you mean "say"?'],
	["calls: []\nthen: repeat", "script.yaml:2:7: then: there is no entry to repeat"],
	["calls: []\nthen: stop", 'script.yaml:2:7: then: must be "fail" or "end" or "repeat", not "stop"'],
	["calls: [{expect: {user: '('}}]", "script.yaml:1:25: calls[0].expect.user: not a regular expression"],
	["calls: [{tools: [{input: {}}]}]", "script.yaml:1:18: calls[0].tools[0].name: missing"],
	[
		"calls: [{tools: [{name: a, input: {}, input_json: '{}'}]}]",
		"calls[0].tools[0].input_json: stands for `input`; write one of them",
	],
	["calls: [{stall: true, events: []}]", "calls[0].events: `stall` is the whole answer; leave this out"],
	["calls: [{events: [], say: x}]", "calls[0].say: `events` is the whole answer; leave this out"],
	["calls: [{stall: false}]", "calls[0].stall: must be true, not false"],
	["calls: [{attempts: [{error: {status: 5, kind: auth}}]}]", "calls[0].attempts[0].error"],
	["calls: [{attempts: [{error: {kind: gone}}]}]", "calls[0].attempts[0].error.kind: must be"],
])("script %j is refused: %s", (text, message) =>
	withScript(text, async (play) => {
		const fault = await faultOf(() => play());
		expect(fault.code).toBe("MODEL_SCRIPT");
		expect(fault.message).toContain(message);
	}),
);

test("a script that is not there is found by check and by a call", () =>
	withCall(async ({ call, directory }) => {
		const adapter = createScriptedAdapter("scripted", join(directory, "none.yaml"));
		expect((await faultOf(() => adapter.check())).message).toContain("none.yaml: cannot be read");
		expect((await faultOf(() => call(adapter))).code).toBe("MODEL_SCRIPT");
	}));

test.each([
	["", []],
	["a", ["a"]],
	["abcd", ["ab", "cd"]],
	["a😀b😀", ["a😀", "b😀"]],
])("%j is cut into %j", (text, cut) => {
	expect(pieces(text)).toEqual(cut);
});
