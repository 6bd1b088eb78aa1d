import { expect } from "vitest";
import { consults, ticks, tickTool, waitingControl } from "../support/controls.ts";
import { expectSettled, expectStopped, isReady, resultsOf, startRun, waitingTool } from "../support/driving.ts";
import { createPlace, type Place, until } from "../support/place.ts";
import { stepFile } from "../support/scenario.ts";
import { transcriptOf } from "../support/transcript.ts";
import { verifies } from "../support/verifies.ts";
import { recorded } from "../support/window.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const NAMES = ["alpha", "beta", "gamma"];

const create = (
	execution: "serial" | "parallel",
	names: readonly string[],
	{ place = createPlace(), control = "none" }: { readonly place?: Place; readonly control?: string } = {},
): Promise<Workspace> => {
	for (const name of NAMES) tickTool(place, name);
	const invocations = names.map((name) => ({ name, input: {} }));
	const tools = [
		{ id: "m", name: "multi_tool", input: { invocations, execution } },
		{ id: "z", name: "gamma" },
	];
	return createWorkspace({
		place,
		script: { calls: [{ tools }, { say: "done" }] },
		tools: ["multi_tool", ...NAMES],
		control,
	});
};

verifies("tools-106", "what the first call of a stopped batch wrote is in the commit of its result", async () => {
	const ws = await create("serial", ["alpha", "beta", "gamma"]);
	tickTool(ws, "alpha", "echo half > half.txt");
	waitingTool(ws, "beta");
	const run = await startRun(ws);
	await isReady(ws, "beta");
	await expectStopped(ws, run.agent, await run.stop());
	const [batch, after] = transcriptOf(ws, run.agent).filter(({ side }) => side === "tool");
	expectSettled(resultsOf(batch === undefined ? [] : [batch])[0], "started");
	expectSettled(resultsOf(after === undefined ? [] : [after])[0], "not started");
	expect(ws.git("show", `${batch?.commit}:half.txt`)).toBe("half\n");
	expect(() => ws.git("show", `${batch?.parent}:half.txt`)).toThrow();
	expect([ticks(ws), recorded(ws, run.agent)]).toEqual([
		["alpha", "beta"],
		["001/m-1", "001/m-2"],
	]);
	expect(ws.exists(stepFile(run.agent, "001", "tools", "m-2", "output.json"))).toBe(false);
});

verifies("stop-batch", "all calls of a batch that run side by side are ended by a stop", async () => {
	const ws = await create("parallel", ["alpha", "beta"]);
	for (const name of ["alpha", "beta"]) waitingTool(ws, name);
	const run = await startRun(ws);
	await until("both run", () => ws.exists("alpha.ready") && ws.exists("beta.ready"));
	await expectStopped(ws, run.agent, await run.stop());
	const [batch, after] = resultsOf(transcriptOf(ws, run.agent));
	expectSettled(batch, "started");
	expectSettled(after, "not started");
	expect([...ticks(ws)].sort()).toEqual(["alpha", "beta"]);
});

for (const execution of ["serial", "parallel"] as const)
	verifies("stop-batch", `a stop while the first of a ${execution} batch is judged starts nothing of it`, async () => {
		const place = createPlace();
		const ws = await create(execution, ["alpha", "beta"], { place, control: waitingControl(place, "m-1") });
		const run = await startRun(ws);
		await isReady(ws, "control");
		await expectStopped(ws, run.agent, await run.stop());
		for (const result of resultsOf(transcriptOf(ws, run.agent))) expectSettled(result, "not started");
		expect([ticks(ws), consults(ws).length]).toEqual([[], 2]);
	});

verifies(
	"stop-batch",
	"a call of a batch that had ended by itself does not make its batch one that ended",
	async () => {
		const ws = await create("serial", ["alpha", "beta"]);
		tickTool(ws, "alpha", "trap '' TERM\nkill -TERM $PPID");
		const run = await startRun(ws);
		await expectStopped(ws, run.agent, await run.ended);
		expectSettled(resultsOf(transcriptOf(ws, run.agent))[0], "started");
		expect(ticks(ws)).toEqual(["alpha"]);
	},
);
