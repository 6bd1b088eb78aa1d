import { mkdirSync, readdirSync } from "node:fs";
import { expect } from "vitest";
import { consults, MODES, PASS, shellControl, ticks } from "../support/controls.ts";
import { createPlace } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { createWindow, HOLD, REFUSE, recorded } from "../support/window.ts";
import { digestOf } from "../support/workspace.ts";

verifies("tools-1", "a control is shown the call, the role and the agent, and nothing else", async () => {
	const ws = await createWindow(1);
	const { agent } = await ws.run();
	const [request, ...more] = consults(ws).map((line) => JSON.parse(line) as Record<string, unknown>);
	expect(more).toEqual([]);
	expect(request).toEqual({ id: "t1", name: "alpha", input: { n: 1 }, role: "worker", agent_id: agent });
	expect(Object.keys(request ?? {})).toEqual(["id", "name", "input", "role", "agent_id"]);
});

verifies("tools-2", "the request is compact, with the input's own bytes, and its digest is on the record", async () => {
	const input = '{ "b" : 9007199254740993 ,\n"a" : [ 1.0, "x  y" ] }';
	const ws = await createWindow(1, {}, { script: { calls: [{ tools: [{ name: "alpha", input_json: input }] }, {}] } });
	const { agent } = await ws.run();
	const call = { id: "call_1", name: "alpha", input: '{"b":9007199254740993,"a":[1.0,"x  y"]}' };
	const request = `{"id":"call_1","name":"alpha","input":${call.input},"role":"worker","agent_id":"${agent}"}`;
	expect(consults(ws)).toEqual([request]);
	expect(ws.trailers(agent, "Lernie-Digest")).toEqual([digestOf(call, agent)]);
});

for (const mode of MODES)
	verifies("tools-4", `mode ${mode}, a control works in the root of the workspace, wherever the agent is`, async () => {
		const place = createPlace();
		mkdirSync(place.path("elsewhere"));
		const script = {
			calls: [
				{ tools: [{ name: "cd", input: { path: place.path("elsewhere") } }] },
				{ tools: [{ name: "bash", input: { command: "pwd" } }] },
				{ say: "done" },
			],
		};
		const control = shellControl(place, `pwd >> where.txt; say '${PASS}'`, "control", mode);
		const ws = await createWindow(1, {}, { place, control, controlOptions: { mode }, script, tools: ["cd", "bash"] });
		const { agent } = await ws.run();
		expect(ws.read("ws/where.txt")).toBe(`${ws.dir}\n${ws.dir}\n`);
		expect(ws.results(agent)[1]?.text).toContain(place.path("elsewhere"));
		expect(readdirSync(place.path("elsewhere"))).toEqual([]);
	});

verifies("tools-5", "a control is given no arguments", async () => {
	const place = createPlace();
	const ws = await createWindow(
		1,
		{},
		{ place, control: shellControl(place, `echo $# > count; printf '%s' '${PASS}'`) },
	);
	await ws.run();
	expect(ws.read("ws/count")).toBe("0\n");
});

verifies("tools-6", "the name of a control is not looked up on PATH: such a configuration does not load", async () => {
	const place = createPlace();
	shellControl(place, `printf '%s' '${PASS}'`, "bin/guardian");
	place.write("home/template/providers.yaml", "roles: {worker: {provider: scripted, model: m, tools: []}}\n");
	place.write("home/template/workflow.yaml", "tool_control: {command: guardian}\n");
	place.write("script.yaml", "calls: []\n");
	const env = { PATH: `${place.path("bin")}:${place.env.PATH}`, LERNIE_SCRIPT: place.path("script.yaml") };
	const ran = await place.lernie(["new", place.path("ws")], { env });
	expect(ran, ran.stderr).toMatchObject({ code: 3 });
	expect(ran.stderr).toContain("tool_control.command");
	expect(place.exists("ws")).toBe(false);
});

verifies("tools-7", "a command with a blank is one path, not a command line", async () => {
	const place = createPlace();
	const control = `${shellControl(place, `printf '%s' '${PASS}'`)} --flag`;
	const ws = await createWindow(1, {}, { place, control });
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 14 });
	expect(ws.mark(ran.agent)).toMatchObject({
		kind: "fault",
		reason: expect.stringContaining(`spawn control "${control}"`),
	});
	expect(consults(ws)).toEqual([]);
	expect(recorded(ws, ran.agent)).toEqual([]);
});

verifies("tools-8", "a control need not read its stdin, however large the input is", async () => {
	const place = createPlace();
	const control = place.script("control", `#!/bin/sh\nexec <&-\nprintf '%s' '${PASS}'\n`);
	const script = { calls: [{ tools: [{ name: "alpha", input: { text: "x".repeat(1024 * 1024) } }] }, { say: "done" }] };
	const ws = await createWindow(1, {}, { place, control, script });
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["alpha"]);
});

for (const mode of MODES)
	verifies("tools-9", `mode ${mode}, a control may write a mebibyte to stderr before it answers`, async () => {
		const place = createPlace();
		const control = shellControl(place, `head -c 1048576 /dev/zero >&2; say '${PASS}'`, "control", mode);
		const ws = await createWindow(1, {}, { place, control, controlOptions: { mode } });
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(ticks(ws)).toEqual(["alpha"]);
	});

for (const mode of MODES)
	verifies(
		"tools-11",
		`mode ${mode}, each call is judged once, in order, after the result of the one before is on the record`,
		async () => {
			const place = createPlace();
			const count =
				'git -C repo.git ls-tree -r --name-only "agents/$LERNIE_CONV_BRANCH" messages/ | tail -1 >> newest.log';
			const ws = await createWindow(
				2,
				{},
				{ place, control: shellControl(place, `${count}; say '${PASS}'`, "control", mode), controlOptions: { mode } },
			);
			const ran = await ws.run();
			expect(ran, ran.stderr).toMatchObject({ code: 0 });
			expect(consults(ws).map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(["t1", "t2"]);
			expect(ws.read("ws/newest.log")).toBe("messages/002-model-a.json\nmessages/003-tool.json\n");
			expect(ticks(ws)).toEqual(["alpha", "beta"]);
		},
	);

for (const mode of MODES)
	verifies("tools-12", `mode ${mode}, a consult leaves no record of a call`, async () => {
		const ws = await createWindow(3, { t1: REFUSE, t3: HOLD }, { controlOptions: { mode } });
		const { agent } = await ws.run();
		expect(consults(ws)).toHaveLength(3);
		expect(recorded(ws, agent)).toEqual(["001/t2"]);
	});
