import { expect } from "vitest";
import { consults, PASS, shellControl, ticks, tickTool, waitingControl } from "../support/controls.ts";
import { expectSettled, expectStopped, isReady, resultsOf, startRun, waitingTool } from "../support/driving.ts";
import { createPlace, type Place } from "../support/place.ts";
import { transcriptOf } from "../support/transcript.ts";
import { verifies } from "../support/verifies.ts";
import { CALLS, createWindow, HOLD, quiet, REFUSE, recorded, stateOf, steps } from "../support/window.ts";
import type { Workspace } from "../support/workspace.ts";

const IDS = CALLS.map(({ id }) => id);
const NAMES = CALLS.map(({ name }) => name);

/** The results of the three calls, of which the first `kept` have one of their own. */
const expectRest = (ws: Workspace, agent: string, kept: number, current: "started" | "not started"): void => {
	const results = resultsOf(transcriptOf(ws, agent));
	expect(results.map(({ id }) => id)).toEqual(IDS);
	for (const [at, result] of results.entries()) {
		if (at < kept) expect(result).toMatchObject({ isError: false, text: "Exit code: 0\n" });
		else expectSettled(result, at === kept ? current : "not started");
	}
	expect(steps(ws, agent), "model calls").toBe(1);
};

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

for (const [at, id] of IDS.entries())
	verifies(
		["core-11", "tools-42", "cli-E11", "stop-window"],
		`stopped while the control is asked about ${id}: it is ended, the call is not run and told as not started`,
		async () => {
			const place = createPlace();
			const ws = await createWindow(3, {}, { place, control: waitingControl(place, id) });
			const run = await startRun(ws);
			await isReady(ws, "control");
			const from = performance.now();
			const ran = await run.stop();
			expect(performance.now() - from, "far less than the control's deadline").toBeLessThan(5000);
			await expectStopped(ws, run.agent, ran);
			expectRest(ws, run.agent, at, "not started");
			expect(ticks(ws)).toEqual(NAMES.slice(0, at));
			expect(consults(ws)).toHaveLength(at + 1);
			expect(ws.mark(run.agent)).toBeUndefined();
		},
	);

const LATE: readonly (readonly [string, string, string])[] = [
	["tools-43", "fails", "exit 1"],
	["tools-44", "passes the call", `printf "%s" "{\\"verdict\\":\\"pass\\"}"; exit 0`],
	["stop-consult", "refuses the call", `printf "%s" "{\\"verdict\\":\\"refuse\\",\\"reason\\":\\"no\\"}"; exit 0`],
	["stop-consult", "holds the call", `printf "%s" "{\\"verdict\\":\\"hold\\",\\"reason\\":\\"no\\"}"; exit 0`],
	["stop-consult", "prints no verdict", "echo what; exit 0"],
];

const late = (name: string, onTerm: string) => async (): Promise<void> => {
	const place = createPlace();
	const ws = await createWindow(3, {}, { place, control: waitingControl(place, "t2", onTerm) });
	const run = await startRun(ws);
	await isReady(ws, "control");
	await expectStopped(ws, run.agent, await run.stop());
	expectRest(ws, run.agent, 1, "not started");
	expect([ticks(ws), ws.mark(run.agent)], name).toEqual([["alpha"], undefined]);
};

verifies("tools-43", `a control that ${LATE[0]?.[1]} once a stop has come: stopped`, late("fails", LATE[0]?.[2] ?? ""));
verifies(
	"tools-44",
	`a control that ${LATE[1]?.[1]} once a stop has come: stopped`,
	late("passes", LATE[1]?.[2] ?? ""),
);
for (const [, name, onTerm] of LATE.slice(2))
	verifies("stop-consult", `a control that ${name} once a stop has come: stopped`, late(name, onTerm));

verifies("stop-consult", "a control that ignores SIGTERM is killed, and the call is not run", async () => {
	const place = createPlace();
	const ws = await createWindow(3, {}, { place, control: waitingControl(place, "t1", "") });
	const run = await startRun(ws);
	await isReady(ws, "control");
	await expectStopped(ws, run.agent, await run.stop());
	expectRest(ws, run.agent, 0, "not started");
	expect(ticks(ws)).toEqual([]);
});

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

const answering = (place: Place, verdict: string): string =>
	shellControl(place, `${STOPS_ITS_DRIVER}; sleep 0.2; printf '%s' '${verdict}'`);

for (const [name, verdict] of [
	["pass", PASS],
	["refuse", REFUSE],
	["hold", HOLD],
	["fault", "{}"],
] as const)
	verifies("stop-consult", `a stop that comes before a control answers ${name} is what counts`, async () => {
		const place = createPlace();
		const ws = await createWindow(3, {}, { place, control: answering(place, verdict) });
		const run = await startRun(ws);
		await expectStopped(ws, run.agent, await run.ended);
		expectRest(ws, run.agent, 0, "not started");
		expect([ticks(ws), consults(ws).length, ws.mark(run.agent)]).toEqual([[], 1, undefined]);
	});

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
