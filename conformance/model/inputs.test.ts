import { expect } from "vitest";
import { consults, PASS, sayingControl } from "../support/controls.ts";
import { createPlace } from "../support/place.ts";
import { bash, runCalls, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, digestOf } from "../support/workspace.ts";

const EXACT = '{"n":9007199254740993,"f":1.0,"e":1E2,"10":1,"2":"\\u00e9é","s":" a  b ","z":{"b":[],"a":null}}';

verifies(
	"contract-input-bytes",
	"numbers, order and escapes of an input reach tool, control, record and transcript as sent",
	async () => {
		const place = createPlace();
		place.tool("echo", "#!/bin/sh\ncat\n");
		const control = sayingControl(place, PASS);
		const input_json = EXACT.replaceAll(",", " ,\n\t").replaceAll('":', '" : ');
		const { agent, results, ws } = await runCalls([{ name: "echo", id: "t1", input_json }], {
			place,
			control,
			tools: ["echo"],
		});
		expect(results[0]?.text).toBe(`Exit code: 0\n${EXACT}`);
		expect(consults(place)).toEqual([
			`{"id":"t1","name":"echo","input":${EXACT},"role":"worker","agent_id":"${agent}"}`,
		]);
		expect(ws.entries(agent)[1]?.text).toContain(`"input":${EXACT}`);
		expect(ws.read(stepFile(agent, "001", "tools/t1/input.json"))).toContain(`"input": ${EXACT}\n`);
		expect(ws.read(stepFile(agent, "002", "request.json"))).toContain(`"input":${EXACT}`);
		expect(ws.trailers(agent, "Lernie-Digest")).toEqual([digestOf({ id: "t1", name: "echo", input: EXACT }, agent)]);
	},
);

const nested = (depth: number): string => `{"a":${"[".repeat(depth - 1)}${"]".repeat(depth - 1)}}`;

/** Argument text that must not be judged or run, with what the model is told and what the transcript keeps. */
const unusable: Readonly<Record<string, readonly [input_json: string, why: RegExp, kept: string]>> = {
	"a repeated key": [
		'{"command":"true","command":"false"}',
		/"command".* twice/,
		'{"command":"true","command":"false"}',
	],
	"a key repeated inside": ['{"a":{"b":1,"b":2}}', /"b".* twice/, '{"a":{"b":1,"b":2}}'],
	"a lone surrogate": ['{"command":"\\ud800"}', /surrogate/, '{"command":"\\ud800"}'],
	"depth 65": [nested(65), /deeper than 64/, "{}"],
	"more than 1.5 MiB": [JSON.stringify({ command: "x".repeat(1_572_864) }), /larger than 1572864/, "{}"],
	"a cut text": ['{"command":"tr', /./, "{}"],
	"a list": ["[]", /one JSON object/, "{}"],
	"a number": ["5", /one JSON object/, "{}"],
	"two values": ["{} {}", /one JSON object/, "{}"],
};

verifies(
	"contract-input-refused",
	"arguments that cannot be carried exactly are answered in band, unjudged and without a record",
	async () => {
		const place = createPlace();
		const control = sayingControl(place, PASS);
		const cases = Object.entries(unusable);
		const calls = cases.map(([, [input_json]], at) => ({ name: "bash", id: `t${at}`, input_json }));
		const { agent, results, ran, ws } = await runCalls(calls, { place, control });
		expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "done\n" });
		const entry = JSON.parse(ws.entries(agent)[1]?.text ?? "") as { content: { type: string }[] };
		expect(entry.content).toHaveLength(cases.length);
		for (const [at, [name, [, why, kept]]] of cases.entries()) {
			expect.soft(results[at], name).toMatchObject({ id: `t${at}`, isError: true });
			expect.soft(results[at]?.text, name).toContain("the arguments are not usable: ");
			expect.soft(results[at]?.text, name).toMatch(why);
			expect.soft(ws.entries(agent)[1]?.text, name).toContain(`"id":"t${at}","name":"bash","input":${kept}`);
		}
		expect([consults(place), place.exists(stepFile(agent, "001", "tools"))]).toEqual([[], false]);
		expect(ws.trailers(agent, "Lernie-Verdict")).toEqual(cases.map(() => "unusable"));
	},
);

verifies("contract-input-limits", "depth 64, almost 1.5 MiB, no arguments and white space are usable", async () => {
	const place = createPlace();
	place.tool("size", "#!/bin/sh\nwc -c\n");
	const large = JSON.stringify({ a: "x".repeat(1_572_800) });
	const calls = [nested(64), large, "", "  "].map((input_json) => ({ name: "size", input_json }));
	const { results } = await runCalls(calls, { place, tools: ["size"] });
	expect(results.map(({ text }) => Number(text.split("\n")[1]))).toEqual([nested(64).length, large.length, 2, 2]);
});

verifies(
	"contract-input-cut",
	"arguments cut off at the model's output limit are told as that, and the other calls run",
	async () => {
		const tools = [bash("echo whole"), { ...bash("echo never"), id: "cut" }];
		const ws = await createWorkspace({ script: { calls: [{ tools, finish: "length" }, { say: "done" }] } });
		const { agent, code } = await ws.run();
		expect(code).toBe(0);
		expect(ws.results(agent)).toMatchObject([
			{ text: "Exit code: 0\nwhole\n", isError: false },
			{ id: "cut", isError: true, text: expect.stringContaining("cut off") },
		]);
		expect(ws.entries(agent)[1]?.text).toContain('"id":"cut","name":"bash","input":{}');
	},
);

verifies(
	"contract-provider-ids",
	"an empty or repeated id gets a number of its own everywhere but in the response as it came",
	async () => {
		const ids = ["", "x", "x", "x~2", "", "x"];
		const calls = ids.map((id, at) => ({ ...bash(`echo ${at}`), id }));
		const place = createPlace();
		const control = sayingControl(place, PASS);
		const { agent, results, ws } = await runCalls(calls, { place, control });
		const own = ["call~1", "x", "x~3", "x~2", "call~2", "x~4"];
		expect(results.map(({ id, text }) => [id, text.split("\n")[1]])).toEqual(own.map((id, at) => [id, String(at)]));
		expect(consults(place).map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(own);
		const response = ws.read(stepFile(agent, "001", "response.json"));
		expect([...response.matchAll(/"tool_use":\{"id":"([^"]*)"/g)].map((match) => match[1])).toEqual(ids);
	},
);

verifies("contract-ids-repeat", "ids that repeat from turn to turn are other calls", async () => {
	const after = [{ tools: [bash("echo two")] }, { tools: [bash("echo three")] }, { say: "done" }];
	const { ran, results } = await runCalls([bash("echo one")], { after });
	expect(ran.code).toBe(0);
	expect(results.map(({ id, text }) => [id, text.split("\n")[1]])).toEqual([
		["call_1", "one"],
		["call_1", "two"],
		["call_1", "three"],
	]);
});
