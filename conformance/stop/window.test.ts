import { expect } from "vitest";
import { consults, ticks, tickTool } from "../support/controls.ts";
import { expectRest, expectStopped, isReady, startRun, waitingTool } from "../support/driving.ts";
import { createPlace } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { CALLS, createWindow, quiet, recorded, stateOf } from "../support/window.ts";

const IDS = CALLS.map(({ id }) => id);
const NAMES = CALLS.map(({ name }) => name);

for (const [at, name] of NAMES.entries())
	verifies(
		["stop-window", "core-28.3", "harness-C47"],
		`stopped while ${name} runs: what came before keeps its result, ${name} is settled, nothing after it starts`,
		async () => {
			const ws = await createWindow(3);
			waitingTool(ws, name);
			const run = await startRun(ws);
			await isReady(ws, name);
			await expectStopped(ws, run.agent, await run.stop("SIGINT"));
			expectRest(ws, run.agent, at, "started");
			expect(ticks(ws)).toEqual(NAMES.slice(0, at + 1));
			expect(consults(ws)).toHaveLength(at + 1);
			expect(recorded(ws, run.agent)).toEqual(IDS.slice(0, at + 1).map((id) => `001/${id}`));
		},
	);

/** Signals the driver that started it and goes on as if nothing had happened. */
const STOPS_ITS_DRIVER = "trap '' TERM; kill -TERM $PPID";

verifies(
	["tools-86", "stop-window", "core-28.3"],
	"with the stop set while alpha runs to its end, alpha keeps its result and neither of the others starts",
	async () => {
		const ws = await createWindow(3);
		tickTool(ws, "alpha", STOPS_ITS_DRIVER);
		tickTool(ws, "beta", "kill -SEGV $$");
		const run = await startRun(ws);
		await expectStopped(ws, run.agent, await run.ended);
		expectRest(ws, run.agent, 1, "not started");
		expect([ticks(ws), consults(ws).length]).toEqual([["alpha"], 1]);
	},
);

verifies("stop-window", "calls that would be declined without a consult are answered as stopped too", async () => {
	const place = createPlace();
	const calls = [
		CALLS[0],
		{ id: "t2", name: "nosuch", input: {} },
		{ id: "t3", name: "beta", input_json: '{"a":1,"a":2}' },
	];
	const ws = await createWindow(3, {}, { place, script: { calls: [{ tools: calls }, { say: "done" }] } });
	waitingTool(ws, "alpha");
	const run = await startRun(ws);
	await isReady(ws, "alpha");
	await expectStopped(ws, run.agent, await run.stop());
	expectRest(ws, run.agent, 0, "started");
});

verifies(
	["cli-F12", "stop-revive", "harness-C49"],
	"after a stop in a batch the model reads which calls were stopped and may make them again",
	async () => {
		const again = { tools: CALLS.slice(1), expect: { tool_result: "stopped" } };
		const ws = await createWindow(3, {}, { script: { calls: [{ tools: CALLS }, again, { say: "done" }] } });
		waitingTool(ws, "beta");
		const run = await startRun(ws);
		await isReady(ws, "beta");
		await expectStopped(ws, run.agent, await run.stop());
		tickTool(ws, "beta");
		expect(await ws.in(["message", run.agent, "carry on"])).toMatchObject({ code: 0 });
		await quiet(ws);
		expect(await stateOf(ws, run.agent)).toBe("done");
		expect(ticks(ws)).toEqual(["alpha", "beta", "beta", "gamma"]);
		expect(ws.trailers(run.agent, "Lernie-Verdict").toReversed()).toEqual([
			"pass",
			"stopped",
			"stopped",
			"pass",
			"pass",
		]);
	},
);
