import { dirname, join } from "node:path";
import { expect } from "vitest";
import { answerWith, consults, ticks, tickTool, waitingControl } from "../support/controls.ts";
import {
	expectPaired,
	expectSettled,
	expectStopped,
	isReady,
	resultsOf,
	startAdvance,
	waitingTool,
} from "../support/driving.ts";
import { pauseAt } from "../support/paused.ts";
import { createPlace, LAUNCHER } from "../support/place.ts";
import { transcriptOf } from "../support/transcript.ts";
import { verifies } from "../support/verifies.ts";
import { createWindow, files, HOLD, heldCalls, quiet, stateOf } from "../support/window.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

/** An agent whose first call ran and whose second is held. */
const parked = async () => {
	const place = createPlace();
	const ws = await createWindow(3, { t2: HOLD }, { place });
	const { agent, code } = await ws.run();
	expect([code, ws.mark(agent)?.tool_use_id]).toEqual([10, "t2"]);
	return { ws, agent };
};

const expectSwept = async (ws: Workspace, agent: string): Promise<void> => {
	expect(await ws.in(["message", agent, "go on"])).toMatchObject({ code: 0 });
	await quiet(ws);
	expect([ws.mark(agent), await stateOf(ws, agent)]).toEqual([undefined, "done"]);
	expectPaired(ws, agent);
};

verifies(
	["tools-93", "harness-F88"],
	"a stop while a held call is asked about again: settled, its mark stays for the next drive, nothing is listed as held",
	async () => {
		const { ws, agent } = await parked();
		const mark = ws.mark(agent);
		waitingControl(ws, "t2");
		const advance = startAdvance(ws, agent);
		await isReady(ws, "control");
		await expectStopped(ws, agent, await advance.stop());
		const results = resultsOf(transcriptOf(ws, agent));
		expect(results.map(({ id }) => id)).toEqual(["t1", "t2", "t3"]);
		expectSettled(results[1], "not started");
		expectSettled(results[2], "not started");
		expect(ws.mark(agent)).toEqual(mark);
		expect(await heldCalls(ws)).toEqual([]);
		await expectSwept(ws, agent);
		expect(ticks(ws)).toEqual(["alpha"]);
	},
);

verifies(
	["tools-93", "stop-resume"],
	"a stop while the call that was held runs: it is settled and the one after it does not start",
	async () => {
		const { ws, agent } = await parked();
		answerWith(ws, {});
		waitingTool(ws, "beta");
		const advance = startAdvance(ws, agent);
		await isReady(ws, "beta");
		await expectStopped(ws, agent, await advance.stop("SIGHUP"));
		const results = resultsOf(transcriptOf(ws, agent));
		expectSettled(results[1], "started");
		expectSettled(results[2], "not started");
		expect([ticks(ws), ws.mark(agent), await heldCalls(ws)]).toEqual([["alpha", "beta"], undefined, []]);
		await expectSwept(ws, agent);
		expect(ticks(ws)).toEqual(["alpha", "beta"]);
	},
);

verifies("tools-96", "`stop` for a held agent that nobody drives succeeds and changes nothing", async () => {
	const { ws, agent } = await parked();
	const before = { tip: ws.tip(agent), mark: ws.mark(agent), held: await heldCalls(ws) };
	const ran = await ws.in(["stop", agent]);
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect({ tip: ws.tip(agent), mark: ws.mark(agent), held: await heldCalls(ws) }).toEqual(before);
	expect(await stateOf(ws, agent)).toBe("held");
	answerWith(ws, {});
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["alpha", "beta", "gamma"]);
});

for (const site of ["mark.written", "release.before", "release.after"])
	verifies(
		"harness-A7",
		`interrupted at ${site} of a hold: the call stays held, and the next drive asks at once`,
		async () => {
			const place = createPlace();
			const ws = await createWindow(3, { t2: HOLD }, { place });
			const paused = await pauseAt(ws, site, ["run", "go"]);
			paused.signal("SIGINT");
			const { code } = await paused.resume();
			// It had parked: there was nothing left to stop.
			expect(code).toBe(10);
			const [held] = await heldCalls(ws);
			const agent = held?.agent ?? "";
			const asked = consults(ws).length;
			const ran = await ws.advance(agent);
			expect(ran, ran.stderr).toMatchObject({ code: 10 });
			expect(ran.stderr).not.toMatch(/lock|lease|another/i);
			expect(consults(ws)).toHaveLength(asked + 1);
		},
	);

verifies(
	"harness-B35",
	"an answer that comes after its call was stopped does not let another call of the same id run",
	async () => {
		const place = createPlace();
		tickTool(place, "ask");
		const shipped = join(dirname(LAUNCHER), "lernie-control-ask.cjs");
		// Asked again it waits; the shipped control is asked in every other case.
		const control = place.script(
			"control",
			`#!/bin/sh\nif [ -e ${place.path("wait")} ]; then : > ${place.path("control.ready")}; exec sleep 600; fi\nexec ${shipped}\n`,
		);
		const call = (n: number) => ({ id: "x", name: "ask", input: { n } });
		const script = { calls: [{ tools: [call(1)] }, { tools: [call(2)] }, { say: "done" }] };
		const ws = await createWorkspace({ place, script, tools: ["ask"], control });
		const { agent, code } = await ws.run();
		expect(code).toBe(10);
		const [old] = await heldCalls(ws);
		place.write("wait", "");
		const advance = startAdvance(ws, agent);
		await isReady(ws, "control");
		await expectStopped(ws, agent, await advance.stop());
		expect(await heldCalls(ws)).toEqual([]);
		place.script("control", `#!/bin/sh\nexec ${shipped}\n`);
		expect(await ws.advance(agent)).toMatchObject({ code: 10 });
		ws.write(`ws/approved/${old?.digest}`, "");
		expect(await ws.advance(agent)).toMatchObject({ code: 10 });
		const [held] = await heldCalls(ws);
		expect(held).toMatchObject({ tool_use_id: "x", input: { n: 2 } });
		expect([ticks(ws), held?.digest === old?.digest]).toEqual([[], false]);
		expect(files(ws, agent)).toEqual(["001-user.md", "002-model-a.json", "003-tool.json", "004-model-a.json"]);
		ws.write(`ws/approved/${held?.digest}`, "");
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ticks(ws)).toEqual(["ask"]);
	},
);
