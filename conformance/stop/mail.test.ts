import { expect } from "vitest";
import { ticks, tickTool } from "../support/controls.ts";
import { expectPaired, expectStopped, isReady, startRun, waitingTool } from "../support/driving.ts";
import { createPlace, LAUNCHER, until } from "../support/place.ts";
import { atRest } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { files, mailOf, quiet, stateOf, steps } from "../support/window.ts";
import { createWorkspace, type Workspace, type WorkspaceOptions } from "../support/workspace.ts";

const create = (workflow: WorkspaceOptions["workflow"] = {}): Promise<Workspace> => {
	const place = createPlace();
	tickTool(place, "slow");
	const script = { calls: [{ tools: [{ id: "t1", name: "slow" }] }, { say: "done" }] };
	return createWorkspace({ place, script, tools: ["slow"], workflow });
};

verifies(
	"stop-mail",
	"mail that lay in the inbox when the stop came does not bring the agent back, and waits for the next drive",
	async () => {
		const ws = await create();
		waitingTool(ws, "slow");
		const run = await startRun(ws);
		await isReady(ws, "slow");
		expect(await ws.in(["message", run.agent, "by the way"])).toMatchObject({ code: 0 });
		const ran = await run.stop();
		await quiet(ws);
		await expectStopped(ws, run.agent, ran);
		expect([mailOf(ws, run.agent).length, steps(ws, run.agent)]).toEqual([1, 1]);
		expect(files(ws, run.agent)).toEqual(["001-user.md", "002-model-a.json", "003-tool.json"]);
		expect(await ws.advance(run.agent)).toMatchObject({ code: 0 });
		expect(files(ws, run.agent).slice(3)).toEqual(["004-user.md", "005-model-a.json"]);
		expect([mailOf(ws, run.agent), ticks(ws)]).toEqual([[], ["slow"]]);
	},
);

verifies(
	["stop-mail", "core-13"],
	"mail that comes in after the stop brings the agent back, in a drive of its own",
	async () => {
		const ws = await create({ tool_grace_seconds: 30 });
		// It knows that the stop has come, and ends when it is let go.
		waitingTool(ws, "slow", `: > ${ws.path("told.ready")}; until [ -e ${ws.path("go")} ]; do sleep 0.02; done; exit 7`);
		const run = await startRun(ws);
		await isReady(ws, "slow");
		const ended = run.stop();
		await isReady(ws, "told");
		expect(await ws.in(["message", run.agent, "one more thing"])).toMatchObject({ code: 0 });
		expect(steps(ws, run.agent)).toBe(1);
		ws.write("go", "");
		expect(await ended).toMatchObject({ code: 11 });
		await until("the message is delivered", () => mailOf(ws, run.agent).length === 0 && atRest(ws, run.agent));
		await quiet(ws);
		expect(await stateOf(ws, run.agent)).toBe("done");
		expect(files(ws, run.agent)).toEqual([
			"001-user.md",
			"002-model-a.json",
			"003-tool.json",
			"004-user.md",
			"005-model-a.json",
		]);
		expectPaired(ws, run.agent);
		expect(ticks(ws)).toEqual(["slow"]);
	},
);

verifies("stop-mail", "mail from before the stop stays where it is though more comes after it", async () => {
	const ws = await create({ tool_grace_seconds: 30 });
	waitingTool(ws, "slow", `: > ${ws.path("told.ready")}; until [ -e ${ws.path("go")} ]; do sleep 0.02; done; exit 7`);
	const run = await startRun(ws);
	await isReady(ws, "slow");
	expect(await ws.in(["message", run.agent, "before"])).toMatchObject({ code: 0 });
	const ended = run.stop();
	await isReady(ws, "told");
	expect(await ws.in(["message", run.agent, "after"])).toMatchObject({ code: 0 });
	ws.write("go", "");
	expect(await ended).toMatchObject({ code: 11 });
	await until("both are delivered", () => mailOf(ws, run.agent).length === 0 && atRest(ws, run.agent));
	await quiet(ws);
	const bodies = ws
		.entries(run.agent)
		.filter(({ file }) => file.endsWith(".md"))
		.map(({ text }) => text.split("\n").at(-1));
	expect(bodies).toEqual(["go", "before", "after"]);
	expect(await stateOf(ws, run.agent)).toBe("done");
});

verifies("stop-mail", "what an agent sends itself in the call that was under way does not bring it back", async () => {
	const place = createPlace();
	// The stop comes before the message, which is sent all the same.
	const own = [process.execPath, LAUNCHER, "-w", place.path("ws")].join(" ");
	tickTool(
		place,
		"slow",
		`trap '' TERM\nkill -TERM $PPID\nsleep 0.2\n${own} message "$LERNIE_CONV_BRANCH" "note to self" > /dev/null`,
	);
	const script = { calls: [{ tools: [{ id: "t1", name: "slow" }] }, { say: "done" }] };
	const ws = await createWorkspace({ place, script, tools: ["slow"], workflow: { tool_grace_seconds: 30 } });
	const run = await startRun(ws);
	const ran = await run.ended;
	await quiet(ws);
	await expectStopped(ws, run.agent, ran);
	expect([mailOf(ws, run.agent), steps(ws, run.agent)]).toEqual([[`${run.agent}-001.md`], 1]);
	expect(await ws.advance(run.agent)).toMatchObject({ code: 0 });
	expect(mailOf(ws, run.agent)).toEqual([]);
});
