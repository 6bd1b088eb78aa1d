import { dirname, join } from "node:path";
import { expect } from "vitest";
import { answerWith, tableControl, ticks, tickTool } from "../support/controls.ts";
import { lengthen } from "../support/long-history.ts";
import { createPlace, LAUNCHER, until } from "../support/place.ts";
import { jsonLines, scriptPast } from "../support/scenario.ts";
import { faultsOf, openAt, transcriptOf } from "../support/transcript.ts";
import { verifies } from "../support/verifies.ts";
import { HOLD, heldCalls, quiet, stateOf } from "../support/window.ts";
import { createWorkspace, digestOf, type Script, type Workspace } from "../support/workspace.ts";

const ask = (id: string) => ({ id, name: "ask", input: { of: id } });
const ONE: Script["calls"] = [{ tools: [ask("c1")] }, { say: "done" }];

/** Every call of `ask` is held until `answerWith(ws, {})`; `tick` passes. */
const create = (calls: Script["calls"] = ONE): Promise<Workspace> => {
	const place = createPlace();
	for (const name of ["ask", "tick"]) tickTool(place, name);
	return createWorkspace({
		place,
		script: { calls },
		tools: ["ask", "tick"],
		control: tableControl(place, { ask: HOLD }),
	});
};

const expectWellFormed = (ws: Workspace, agent: string): void => {
	const lines = transcriptOf(ws, agent);
	expect([faultsOf(lines), openAt(lines)]).toEqual([[], []]);
};

verifies("harness-A8", "a call held behind 5,000 entries is found by a process that starts cold", async () => {
	const ws = await create([{ say: "hello" }]);
	const { agent } = await ws.run("go");
	lengthen(ws, agent, 5000);
	ws.setScript(scriptPast("repeat", [{ tools: [ask("c1")] }]));
	expect(await ws.advance(agent)).toMatchObject({ code: 10 });
	expect(await heldCalls(ws)).toMatchObject([{ agent, tool_use_id: "c1", entry: "5001" }]);
	expect(await ws.advance(agent)).toMatchObject({ code: 10 });
	answerWith(ws, {});
	ws.setScript(scriptPast("repeat", [{ say: "done" }]));
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["ask"]);
	expect(
		ws.git("ls-tree", "-r", "--name-only", `agents/${agent}`, "messages/4864/").trim().split("\n").slice(-3),
	).toEqual(["messages/4864/5001-model-a.json", "messages/4864/5002-tool.json", "messages/4864/5003-model-a.json"]);
});

verifies("harness-A15", "every held call is listed with agent, id and digest, and an answer goes by them", async () => {
	const place = createPlace();
	tickTool(place, "ask");
	// The control that ships takes an answer for the digest of a request.
	const control = join(dirname(LAUNCHER), "lernie-control-ask.cjs");
	const ws = await createWorkspace({ place, script: { calls: ONE }, tools: ["ask"], control });
	const agents = [(await ws.run("one")).agent, (await ws.run("two")).agent];
	const held = await heldCalls(ws);
	expect(new Set(held.map(({ agent }) => agent))).toEqual(new Set(agents));
	for (const { agent, digest, tool_use_id } of held) {
		expect(tool_use_id).toBe("c1");
		expect(digest).toBe(digestOf({ id: "c1", name: "ask", input: '{"of":"c1"}' }, agent));
	}
	const [first, second] = held;
	ws.write(`ws/approved/${second?.digest}`, "");
	expect(await ws.advance(first?.agent ?? "")).toMatchObject({ code: 10 });
	expect(ticks(ws)).toEqual([]);
	expect(await ws.advance(second?.agent ?? "")).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["ask"]);
	expect((await heldCalls(ws)).map(({ agent }) => agent)).toEqual([first?.agent]);
	ws.write(`ws/approved/${first?.digest}`, "");
	expect(await ws.advance(first?.agent ?? "")).toMatchObject({ code: 0 });
	expect([ticks(ws), await heldCalls(ws)]).toEqual([["ask", "ask"], []]);
});

const SOON_MS = 2000;

verifies("harness-A16", "a hold without a terminal ends the process with 10 soon after the verdict", async () => {
	const ws = await create();
	const run = ws.start(["-w", ws.dir, "--json", "run", "go"], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
	await until("the verdict", () => run.output().stdout.includes('"verdict":"hold"'));
	const from = performance.now();
	expect(await run.ended).toMatchObject({ code: 10 });
	expect(performance.now() - from).toBeLessThan(SOON_MS);
});

verifies(
	"harness-A17",
	"a hold is one event for machines, one line for people, and a list that is not empty",
	async () => {
		const ws = await create();
		const ran = await ws.run("go", { flags: ["--json"] });
		const events = jsonLines(ran.stdout);
		const verdict = { type: "verdict", id: "c1", verdict: "hold", reason: "ask first", confined: false };
		expect(events.filter(({ type }) => type === "verdict" || type === "end")).toEqual([
			verdict,
			{ type: "end", state: "held", exit: 10 },
		]);
		const agent = String(events.find(({ type }) => type === "agent")?.id);
		expect(await heldCalls(ws)).toMatchObject([{ agent, tool: "ask", reason: "ask first" }]);
		expect((await ws.in(["held"])).stdout).toContain("ask first");
		expect((await ws.advance(agent)).stderr).toMatch(/^HELD: ask first\. /m);
		expect(await stateOf(ws, agent)).toBe("held");
	},
);

verifies(
	"harness-A20",
	"an answer given while nobody drives is there for the next drive, though one dies over it",
	async () => {
		const ws = await create();
		const { agent } = await ws.run("go");
		answerWith(ws, {});
		for (const site of ["owner.written", "consult.sent", "consult.answered"])
			expect(await ws.advance(agent, { env: { LERNIE_CRASH_AT: site } })).toMatchObject({ signal: "SIGKILL" });
		expect(ticks(ws)).toEqual([]);
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ws.results(agent)).toMatchObject([{ id: "c1", isError: false }]);
		expect(ticks(ws)).toEqual(["ask"]);
		expectWellFormed(ws, agent);
	},
);

for (const [where, tools, before] of [
	["first", [ask("c1"), { name: "tick" }, { name: "tick" }], []],
	["in the middle", [{ name: "tick" }, ask("c1"), { name: "tick" }], ["tick"]],
	["last", [{ name: "tick" }, { name: "tick" }, ask("c1")], ["tick", "tick"]],
] as const)
	verifies(
		"harness-A21",
		`a call that is held ${where} in its batch parks the agent and nothing after it starts`,
		async () => {
			const ws = await create([{ tools }, { say: "done" }]);
			const { agent, code } = await ws.run("go");
			expect([code, ticks(ws)]).toEqual([10, before]);
			expect(await heldCalls(ws)).toMatchObject([{ agent, tool_use_id: "c1" }]);
			answerWith(ws, {});
			expect(await ws.advance(agent)).toMatchObject({ code: 0 });
			expect([...ticks(ws)].sort()).toEqual(["ask", "tick", "tick"]);
			expectWellFormed(ws, agent);
		},
	);

verifies("harness-A21", "a call that is held in a drive nobody watches parks the agent in the same way", async () => {
	const ws = await create([{ say: "hello" }, ...ONE]);
	const { agent, code } = await ws.run("go");
	expect(code).toBe(0);
	// The message starts a drive of its own, detached.
	expect(await ws.in(["message", agent, "more"])).toMatchObject({ code: 0 });
	await until("the detached drive has parked", () => ws.mark(agent) !== undefined);
	await quiet(ws);
	expect(await heldCalls(ws)).toMatchObject([{ agent, tool_use_id: "c1" }]);
	expect(await ws.advance(agent)).toMatchObject({ code: 10 });
	answerWith(ws, {});
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["ask"]);
});
