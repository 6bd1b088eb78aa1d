import { expect } from "vitest";
import { sayingControl } from "../support/controls.ts";
import { createPlace, until } from "../support/place.ts";
import { atRest, bash, jsonLines, runCalls, scriptPast } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

verifies(
	"contract-streams",
	"stdout is the assistant's text alone, the first line of stderr names the agent",
	async () => {
		const calls = [
			{ think: "hm", say: "Let me look.", tools: [bash("echo from the tool; echo loud >&2")] },
			{ say: "Done.\n" },
		];
		const ws = await createWorkspace({ script: { calls } });
		const ran = await ws.run();
		expect(ran).toMatchObject({ code: 0, stdout: "Let me look.\nDone.\n" });
		expect(ran.stderr).toMatch(/^agent \d{8}T\d{6}Z-[0-9a-f]{8} \S+\n/);
		expect(ran.stderr).toContain('bash {"command":');
		const again = await ws.advance(ran.agent);
		expect(again).toMatchObject({ code: 0, stdout: "" });
	},
);

verifies("contract-run-events", "with --json every line of stdout is an event of the closed set", async () => {
	const place = createPlace();
	const control = sayingControl(place, '{"verdict":"refuse","reason":"no"}');
	const calls = [
		{
			say: "Hi.",
			tools: [
				{ name: "bash", id: "a", input_json: '{"n":1.0}' },
				{ name: "frob", id: "b" },
			],
		},
		{ say: "Bye." },
	];
	const ws = await createWorkspace({ place, control, script: { calls } });
	const ran = await ws.in(["run", "--json", "hi"]);
	expect(ran.code).toBe(0);
	const lines = ran.stdout.trimEnd().split("\n");
	const events = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
	const keys = (type: string): readonly string[] => [
		...new Set(events.filter((event) => event.type === type).map((event) => Object.keys(event).join())),
	];
	expect([...new Set(events.map(({ type }) => type))].sort()).toEqual([
		"agent",
		"call",
		"end",
		"notice",
		"result",
		"text",
		"verdict",
	]);
	expect(keys("agent")).toEqual(["type,id,name"]);
	expect(keys("text")).toEqual(["type,text"]);
	expect(keys("call")).toEqual(["type,id,name,input"]);
	expect(keys("verdict")).toEqual(["type,id,verdict,reason,confined"]);
	expect(keys("result")).toEqual(["type,id,is_error,exit_code,ms,bytes"]);
	expect(keys("notice")).toEqual(["type,code,message"]);
	expect(lines).toContain('{"type":"call","id":"a","name":"bash","input":{"n":1.0}}');
	expect(events.filter(({ type }) => type === "verdict")).toMatchObject([
		{ id: "a", verdict: "refuse", reason: "no" },
		{ id: "b", verdict: "ungranted" },
	]);
	expect(
		events
			.filter(({ type }) => type === "text")
			.map(({ text }) => text)
			.join(""),
	).toBe("Hi.Bye.");
	expect(events.at(-1)).toEqual({ type: "end", state: "done", exit: 0 });
});

verifies("contract-json-place", "-w and --json go before or after the verb's name", async () => {
	const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
	const { agent } = await ws.run();
	const outputs = [];
	for (const args of [
		["--json", "-w", ws.dir, "ls"],
		["ls", "--json", "-w", ws.dir],
		["-w", ws.dir, "ls", "--json"],
	])
		outputs.push((await ws.lernie(args)).stdout);
	outputs.push((await ws.lernie(["ls", "--json"], { env: { LERNIE_WORKSPACE: ws.dir } })).stdout);
	outputs.push((await ws.lernie(["ls", "--json"], { cwd: ws.path("ws/steps", agent) })).stdout);
	expect(new Set(outputs).size).toBe(1);
	expect(JSON.parse(outputs[0] ?? "")).toMatchObject([{ id: agent, state: "done" }]);
	for (const args of [
		["--json", "log", "nobody"],
		["log", "nobody", "--json"],
	]) {
		const ran = await ws.in(args);
		expect(ran.code).toBe(3);
		expect(Object.keys(JSON.parse(ran.stdout).error)).toEqual(["code", "message", "data"]);
	}
});

verifies("contract-ls", "an agent is listed with a closed set of keys", async () => {
	const { agent, ws } = await runCalls([bash("true")]);
	const [listed, ...others] = JSON.parse((await ws.in(["ls", "--json"])).stdout) as Record<string, unknown>[];
	expect(others).toEqual([]);
	expect(Object.keys(listed ?? {})).toEqual([
		"id",
		"name",
		"role",
		"state",
		"parent",
		"entries",
		"pending_mail",
		"held",
		"usage",
		"last_error",
		"founded_at",
	]);
	expect(listed).toMatchObject({ id: agent, role: "worker", state: "done", parent: null, entries: 4, pending_mail: 0 });
	expect(listed).toMatchObject({
		held: null,
		last_error: null,
		founded_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
	});
});

verifies("contract-stdin-text", "the text `-` is read from stdin", async () => {
	const ws = await createWorkspace({ script: scriptPast("end", [{ say: "done" }]) });
	const goal = "line one\n--- \nünïcode\n";
	const ran = await ws.run("-", { stdin: goal });
	expect(ran.code).toBe(0);
	expect(ws.entries(ran.agent)[0]?.text.endsWith(`\n---\n${goal}`)).toBe(true);
	expect(ws.git("show", `agents/${ran.agent}:goal.md`)).toBe(goal);
	expect((await ws.in(["message", ran.agent, "-"], { stdin: "more" })).code).toBe(0);
	await until("the message to be answered", () => ws.entries(ran.agent).length === 4 && atRest(ws, ran.agent));
	expect(ws.entries(ran.agent)[2]?.text.endsWith("\n---\nmore")).toBe(true);
	expect(await ws.in(["run", "-"], { stdin: "" })).toMatchObject({ code: 3, stdout: "" });
});

verifies("contract-end-of-flags", "after `--` nothing is a flag", async () => {
	const ws = await createWorkspace({ script: scriptPast("end", [{ say: "done" }]) });
	const ran = await ws.in(["run", "--", "--help"]);
	expect(ran).toMatchObject({ code: 0, stdout: "done\n" });
	const agent = ran.stderr.split(" ")[1] ?? "";
	expect(ws.git("show", `agents/${agent}:goal.md`)).toBe("--help");
	expect((await ws.in(["message", "--", agent, "--json"])).code).toBe(0);
	await until("the message to be answered", () => ws.entries(agent).length === 4 && atRest(ws, agent));
	expect(ws.entries(agent)[2]?.text.endsWith("\n---\n--json")).toBe(true);
});

verifies(
	"contract-model-file-name",
	"--model splits at the first slash, and a model id is percent-encoded in a file name",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
		const ran = await ws.run("hi", { flags: ["--model", "scripted/vendor/model:v1 é.x_y-z"] });
		expect(ran.code).toBe(0);
		expect(ws.git("ls-tree", "--name-only", `agents/${ran.agent}:messages`).trim().split("\n")).toEqual([
			"001-user.md",
			"002-vendor%2Fmodel%3Av1%20%C3%A9.x_y-z.json",
		]);
		expect(ws.trailers(ran.agent, "Lernie-Model")[0]).toBe("scripted/vendor/model:v1 é.x_y-z");
	},
);

verifies(
	"contract-unconfined",
	"every surface says that a tool is not confined, and that no control is asked",
	async () => {
		const { ran, agent, ws } = await runCalls([bash("true")]);
		const events = jsonLines((await ws.in(["run", "--json", "hi"])).stdout);
		expect(events.filter(({ type }) => type === "notice").map(({ code }) => code)).toEqual(
			expect.arrayContaining(["LIMITS", "UNCONFINED", "UNCONTROLLED"]),
		);
		const surfaces = {
			run: ran.stderr,
			log: (await ws.in(["log", agent])).stdout,
			show: (await ws.in(["config", "show"])).stdout,
		};
		for (const [name, text] of Object.entries(surfaces)) {
			expect.soft(text, name).toContain("UNCONFINED");
			expect.soft(text, name).toContain("UNCONTROLLED");
		}
	},
);

verifies("contract-unconfined", "a held call and its trailers say that it is not confined", async () => {
	const place = createPlace();
	const control = sayingControl(place, '{"verdict":"hold","reason":"ask"}');
	const { ran, agent, ws } = await runCalls([bash("true")], { place, control });
	expect(ran.stderr).not.toContain("UNCONTROLLED");
	const held = await ws.in(["held"]);
	expect(held.stdout).toContain("UNCONFINED");
	expect(held.stdout).toContain(`advance ${agent}`);
	const [call] = JSON.parse((await ws.in(["held", "--json"])).stdout) as Record<string, unknown>[];
	expect(Object.keys(call ?? {}).sort()).toEqual(
		[
			"agent",
			"name",
			"entry",
			"tool_use_id",
			"tool",
			"input",
			"kind",
			"reason",
			"digest",
			"since",
			"effects",
			"rule",
		].sort(),
	);
	expect(call).toMatchObject({
		agent,
		tool: "bash",
		input: { command: "true" },
		reason: "ask",
		kind: "hold",
		entry: "002",
	});
});

verifies("contract-reader-gone", "readers that go away do not end the drive", async () => {
	const go = "while [ ! -e go ]; do sleep 0.02; done";
	const ws = await createWorkspace({
		script: { calls: [{ say: "one", tools: [bash(go), bash("exit 1")] }, { say: "two" }] },
	});
	const started = ws.start(["-w", ws.dir, "run", "hi"], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
	await until("the first text", () => started.output().stdout.includes("one"));
	started.process.stdout?.destroy();
	const agent = started.output().stderr.split(" ")[1] ?? "";
	await until("the call to run", () => ws.exists(`ws/steps/${agent}/001/tools/call_1/process.json`));
	started.process.stderr?.destroy();
	ws.write(`ws/agents/${agent}/go`, "");
	expect((await started.ended).code).toBe(0);
	expect(ws.entries(agent).at(-1)?.file).toBe("005-model-a.json");
	expect(JSON.parse((await ws.in(["ls", "--json"])).stdout)).toMatchObject([{ id: agent, state: "done" }]);
});
