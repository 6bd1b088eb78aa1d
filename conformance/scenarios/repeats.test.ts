import { expect } from "vitest";
import { answerWith, tableControl, ticks, tickTool } from "../support/controls.ts";
import { expectPaired, isReady, startRun } from "../support/driving.ts";
import { createPlace, until } from "../support/place.ts";
import { isStopped } from "../support/processes.ts";
import { verifies } from "../support/verifies.ts";
import { HOLD, REFUSE, stateOf } from "../support/window.ts";
import { createWorkspace, type Script, type Workspace, type WorkspaceOptions } from "../support/workspace.ts";

const DONE = { say: "done" };
const NAMES = ["alpha", "beta", "gamma"];

const create = (
	calls: Script["calls"],
	answers: Readonly<Record<string, string>> = {},
	workflow: WorkspaceOptions["workflow"] = {},
): Promise<Workspace> => {
	const place = createPlace();
	for (const name of NAMES) tickTool(place, name);
	const control = tableControl(place, answers);
	return createWorkspace({ place, script: { calls }, tools: NAMES, control, workflow });
};

const all = (names: readonly string[]) => ({ tools: names.map((name) => ({ id: `c-${name}`, name })) });

verifies(
	"harness-B28",
	"a driver killed after the first of three results: no call of the message runs again by itself, each runs once",
	async () => {
		const again = { ...all(["beta", "gamma"]), expect: { tool_result: "certainly not started" } };
		const ws = await create([all(NAMES), again, DONE]);
		const { agent, signal } = await ws.run("go", { env: { LERNIE_CRASH_AT: "result.ref#1" } });
		expect([signal, ticks(ws)]).toEqual(["SIGKILL", ["alpha"]]);
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ticks(ws)).toEqual(NAMES);
		expectPaired(ws, agent);
	},
);

verifies(
	"harness-B29",
	"a model call that fails after a tool ran, for good or for a while, does not run the tool again",
	async () => {
		const busy = { attempts: [{ error: { status: 503 } }, { error: { kind: "transport" } }], say: "done" };
		const retry = { retry: { base_ms: 1, jitter: 0 } };
		const ws = await create([all(["alpha"]), { attempts: [{ error: { status: 400 } }] }], {}, retry);
		const { agent, code } = await ws.run();
		expect([code, ticks(ws)]).toEqual([13, ["alpha"]]);
		expect(await ws.advance(agent)).toMatchObject({ code: 13 });
		ws.setScript({ calls: [all(["alpha"]), busy] });
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect([ticks(ws), ws.results(agent).length]).toEqual([["alpha"], 1]);
		expectPaired(ws, agent);
	},
);

verifies(
	"harness-B43",
	"a refused call never runs: not after a kill behind the refusal, not by a later pass, not on any further drive",
	async () => {
		for (const site of ["consult.answered", "entry.objects#3", "result.ref"]) {
			const ws = await create([all(["alpha"]), DONE], { alpha: REFUSE });
			const { agent, signal } = await ws.run("go", { env: { LERNIE_CRASH_AT: site } });
			expect(signal, site).toBe("SIGKILL");
			answerWith(ws, {});
			for (const _ of [1, 2]) expect(await ws.advance(agent), site).toMatchObject({ code: 0 });
			expect([ticks(ws), ws.results(agent)], site).toMatchObject([[], [{ id: "c-alpha", isError: true }]]);
			expectPaired(ws, agent);
		}
		const ws = await create([all(["alpha", "beta"]), DONE], { alpha: HOLD });
		const { agent } = await ws.run();
		answerWith(ws, { alpha: REFUSE });
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		answerWith(ws, {});
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ticks(ws)).toEqual(["beta"]);
	},
);

verifies(
	"harness-B44",
	"the same call with the same id in five messages is five calls, each judged and run once, and the limit ends it",
	async () => {
		const same = all(["alpha"]);
		const ws = await create([same, same, same, same, same, same], {}, { limits: { steps: 5 } });
		const { agent, code } = await ws.run();
		expect([code, ticks(ws).length, await stateOf(ws, agent)]).toEqual([12, 5, "limit"]);
		const judged = ["001", "002", "003", "004", "005"].map((step) =>
			ws.read(`ws/steps/${agent}/${step}/verdicts.jsonl`).trim().split("\n"),
		);
		expect(judged.map((lines) => lines.length)).toEqual([1, 1, 1, 1, 1]);
		expect(ws.results(agent).map(({ id, isError }) => [id, isError])).toEqual(Array(5).fill(["c-alpha", false]));
		expectPaired(ws, agent);
	},
);

verifies(
	"harness-C48",
	"a driver put to sleep in a batch and woken later, with a model that fails thrice: no open call is added or lost",
	async () => {
		const failing = { attempts: Array(3).fill({ error: { status: 529 } }), say: "done" };
		const ws = await create([all(NAMES), failing], {}, { retry: { base_ms: 1, jitter: 0 } });
		tickTool(ws, "beta", `: > ${ws.path("beta.ready")}\nuntil [ -e ${ws.path("go")} ]; do sleep 0.02; done`);
		const run = await startRun(ws);
		await isReady(ws, "beta");
		process.kill(run.pid, "SIGSTOP");
		await until("it stands still", () => isStopped(run.pid));
		ws.write("go", "");
		// Another drive leaves the agent to the sleeper, whose lease it is.
		const other = await ws.advance(run.agent);
		expect(other).toMatchObject({ code: 0, stdout: "" });
		expect([await stateOf(ws, run.agent), ws.results(run.agent).length]).toEqual(["running", 1]);
		process.kill(run.pid, "SIGCONT");
		expect(await run.ended).toMatchObject({ code: 0 });
		expect([ticks(ws), ws.results(run.agent).map(({ isError }) => isError)]).toEqual([NAMES, [false, false, false]]);
		expectPaired(ws, run.agent);
	},
);
