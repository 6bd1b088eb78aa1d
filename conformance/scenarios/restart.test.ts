import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { answerWith, consults, tableControl, ticks, tickTool } from "../support/controls.ts";
import { createPlace, until } from "../support/place.ts";
import { jsonLines } from "../support/scenario.ts";
import { faultsOf, openAt, transcriptOf } from "../support/transcript.ts";
import { verifies } from "../support/verifies.ts";
import { HOLD, heldCalls, stateOf } from "../support/window.ts";
import { createWorkspace, type Script, type Workspace } from "../support/workspace.ts";

const tick = { id: "c1", name: "tick", input: { n: 1 } };
const ONE: Script["calls"] = [{ tools: [tick] }, { say: "done" }];

const create = (calls: Script["calls"] = ONE, answers: Readonly<Record<string, string>> = {}): Promise<Workspace> => {
	const place = createPlace();
	tickTool(place, "tick");
	return createWorkspace({
		place,
		script: { calls },
		tools: ["tick", "bash", "read_file", "message"],
		control: tableControl(place, answers),
	});
};

/** Every call one outcome, in the one order that providers accept. */
const expectWellFormed = (ws: Workspace, agent: string): void => {
	const lines = transcriptOf(ws, agent);
	expect([faultsOf(lines), openAt(lines)]).toEqual([[], []]);
};

const requestOf = (ws: Workspace, agent: string, step: number): string =>
	ws.read(`ws/steps/${agent}/${String(step).padStart(3, "0")}/request.json`);

const killed = { signal: "SIGKILL" };

verifies(
	"harness-A1",
	"a held call outlives its driver: still listed, exit 10, and no other address is taken for it",
	async () => {
		const ws = await create(ONE, { tick: HOLD });
		const { agent, ...ran } = await ws.run("go", { env: { LERNIE_CRASH_AT: "mark.written" } });
		expect(ran).toMatchObject(killed);
		const before = await heldCalls(ws);
		expect(before).toMatchObject([{ agent, tool_use_id: "c1", reason: "ask first" }]);
		expect(await ws.advance(agent)).toMatchObject({ code: 10 });
		expect(await heldCalls(ws)).toEqual(before);
		expect(await ws.advance("20260101T000000Z-00000000")).toMatchObject({ code: 3, stdout: "" });
		expect(ticks(ws)).toEqual([]);
	},
);

for (const [name, call] of [
	["an external tool", { name: "tick", input: {} }],
	["the shell", { name: "bash", input: { command: 'echo tick >> "$LERNIE_HOME/../ticks.log"; sleep 60' } }],
] as const)
	verifies(
		"harness-A3",
		`a driver killed in the middle of ${name}: the call is closed as unknown, the agent goes on`,
		async () => {
			const ws = await create([{ tools: [call] }, { say: "done" }]);
			tickTool(ws, "tick", "sleep 60");
			const driver = ws.start(["-w", ws.dir, "run", "go"], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
			await until("the tool runs", () => ticks(ws).length > 0);
			driver.process.kill("SIGKILL");
			const agent = (await driver.ended).stderr.split(" ")[1] ?? "";
			expect(await stateOf(ws, agent)).toBe("crashed");
			expect(await ws.advance(agent)).toMatchObject({ code: 0 });
			expect(ws.results(agent)).toMatchObject([
				{ isError: true, text: expect.stringContaining("It is unknown whether") },
			]);
			expect([ticks(ws), await stateOf(ws, agent)]).toEqual([["tick"], "done"]);
			expectWellFormed(ws, agent);
		},
	);

verifies(
	"harness-A5",
	"a driver killed while a model call is in flight: the next one makes the call again",
	async () => {
		const ws = await create([{ stall: true }]);
		const driver = ws.start(["-w", ws.dir, "run", "go"], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
		const agent = await until("the agent exists", () => /^agent (\S+)/.exec(driver.output().stderr)?.[1]);
		const response = ws.path("ws/steps", agent, "001/response.json");
		await until("the answer has begun", () => existsSync(response) && readFileSync(response, "utf8") !== "");
		driver.process.kill("SIGKILL");
		await driver.ended;
		ws.setScript({ calls: [{ say: "done" }] });
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ws.entries(agent).map(({ file }) => file)).toEqual(["001-user.md", "002-model-a.json"]);
	},
);

verifies("harness-A7", "a driver killed while it parks leaves no lease: the next one drives at once", async () => {
	const ws = await create(ONE, { tick: HOLD });
	const { agent } = await ws.run("go", { env: { LERNIE_CRASH_AT: "release.before" } });
	const asked = consults(ws).length;
	const ran = await ws.advance(agent);
	expect(ran, ran.stderr).toMatchObject({ code: 10 });
	expect(ran.stderr).not.toMatch(/lock|lease|another/i);
	// It drove: the control was asked again.
	expect(consults(ws)).toHaveLength(asked + 1);
});

verifies("harness-A9", "an agent whose driver died after a result goes on without a new message", async () => {
	const ws = await create();
	const { agent, ...ran } = await ws.run("go", { env: { LERNIE_CRASH_AT: "result.ref" } });
	expect(ran).toMatchObject(killed);
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ws.entries(agent).map(({ file }) => file)).toEqual([
		"001-user.md",
		"002-model-a.json",
		"003-tool.json",
		"004-model-a.json",
	]);
	expect(ticks(ws)).toEqual(["tick"]);
});

verifies(
	"harness-A11",
	"a call answered in another process runs once, and the next request has its result",
	async () => {
		const ws = await create([{ tools: [tick] }, { expect: { tool_result: "^Exit code: 0" }, say: "done" }], {
			tick: HOLD,
		});
		const { agent, code } = await ws.run("go");
		expect([code, ticks(ws)]).toEqual([10, []]);
		answerWith(ws, {});
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ticks(ws)).toEqual(["tick"]);
		expect(requestOf(ws, agent, 2)).toContain('"type":"tool_result","tool_use_id":"c1"');
	},
);

verifies(
	"harness-A12",
	"a stream cut off by a kill, then an error: the failure is told, not the text of an earlier turn",
	async () => {
		const ws = await create([{ say: "old words", tools: [tick] }, { say: "new words" }]);
		const { agent } = await ws.run("go", { env: { LERNIE_CRASH_AT: "call.first-byte#2" } });
		ws.setScript({ calls: [{ say: "never" }, { attempts: [{ error: { status: 400 }, message: "no such model" }] }] });
		const ran = await ws.advance(agent, { flags: ["--json"] });
		expect(ran, ran.stderr).toMatchObject({ code: 13 });
		expect(ran.stdout).not.toContain("words");
		const said = jsonLines(ran.stdout);
		expect(said).toContainEqual({ type: "end", state: "failed", exit: 13 });
		expect(said.at(-1)).toMatchObject({
			error: { code: "MODEL_FAILED", message: expect.stringContaining("no such model") },
		});
		expect(await stateOf(ws, agent)).toBe("failed");
	},
);

verifies("harness-A13", "a hold on the very first call of a new agent is resumed like any other", async () => {
	const ws = await create(ONE, { tick: HOLD });
	const { agent, code } = await ws.run("go");
	expect([code, ws.entries(agent).length, readdirSync(join(ws.dir, "agents", agent))]).toEqual([10, 2, []]);
	answerWith(ws, {});
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["tick"]);
	expectWellFormed(ws, agent);
});
