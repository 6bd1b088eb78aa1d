import { spawn } from "node:child_process";
import { dirname } from "node:path";
import { expect, onTestFinished } from "vitest";
import { ticks, tickTool } from "../support/controls.ts";
import { expectPaired, expectStopped, isReady, startRun, waitingTool } from "../support/driving.ts";
import { createPlace, isAlive, LAUNCHER, type Place, processesNaming, until } from "../support/place.ts";
import { familyOf, ofCalls, startFamily } from "../support/processes.ts";
import { everything } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import { holdLease, leaseFree, quiet, stateOf } from "../support/window.ts";
import { createWorkspace, type Workspace, type WorkspaceOptions } from "../support/workspace.ts";

const create = (options: Partial<WorkspaceOptions> = {}, place: Place = createPlace()): Promise<Workspace> => {
	tickTool(place, "slow");
	const script = { calls: [{ tools: [{ id: "t1", name: "slow" }] }, { say: "done" }] };
	return createWorkspace({ place, script, tools: ["slow", "bash"], ...options });
};

const isRunning = async (ws: Workspace) => {
	const run = await startRun(ws, { flags: ["--name", "worker-one"] });
	await isReady(ws, "slow");
	return run;
};

for (const [what, flags] of [
	["by id", (id: string) => [id]],
	["by name", () => ["worker-one"]],
	["by the beginning of its id", (id: string) => [id.slice(0, 18)]],
] as const)
	verifies(
		["stop-verb", "cli-F9", "core-11"],
		`\`stop\`, the agent given ${what}, answers 0 once its driver is gone and its calls are settled`,
		async () => {
			const ws = await create();
			waitingTool(ws, "slow");
			const run = await isRunning(ws);
			const ran = await ws.in(["stop", ...flags(run.agent)]);
			expect(isAlive(run.pid), "the driver, when stop returned").toBe(false);
			expect(ran, ran.stderr).toMatchObject({ code: 0 });
			await expectStopped(ws, run.agent, await run.ended);
			expect(ws.results(run.agent)).toHaveLength(1);
		},
	);

verifies(
	["cli-F10", "stop-verb"],
	"`stop` where nobody drives succeeds and changes nothing, also a second time",
	async () => {
		const ws = await create({ script: { calls: [{ say: "done" }] } });
		const { agent } = await ws.run();
		await quiet(ws);
		const before = [everything(ws.dir), ws.tip(agent)];
		for (const _ of [1, 2]) expect(await ws.in(["stop", agent])).toMatchObject({ code: 0 });
		expect([everything(ws.dir), ws.tip(agent)]).toEqual(before);
		expect(await stateOf(ws, agent)).toBe("done");
	},
);

verifies("cli-F10", "`stop` of an agent that does not exist is refused and changes nothing", async () => {
	const ws = await create({ script: { calls: [{ say: "done" }] } });
	await ws.run();
	await quiet(ws);
	const before = everything(ws.dir);
	for (const address of ["nosuch", "20260101T000000Z-00000000", "../x"]) {
		const ran = await ws.in(["stop", address]);
		expect(ran, address).toMatchObject({ code: 3, stdout: "" });
		expect(ran.stderr).toContain(address);
	}
	expect(everything(ws.dir)).toEqual(before);
});

verifies("stop-verb", "two at the same time stop it once", async () => {
	const ws = await create({ workflow: { tool_grace_seconds: 0.5 } });
	waitingTool(ws, "slow", "");
	const run = await isRunning(ws);
	const both = await Promise.all([ws.in(["stop", run.agent]), ws.in(["stop", run.agent])]);
	expect(both).toMatchObject([{ code: 0 }, { code: 0 }]);
	await expectStopped(ws, run.agent, await run.ended);
});

verifies("stop-verb", "it stops the agent it is given and no other", async () => {
	const ws = await create();
	waitingTool(ws, "slow");
	const one = await isRunning(ws);
	const two = await startRun(ws);
	await until("both run", () => ticks(ws).length === 2);
	expect(await ws.in(["stop", one.agent])).toMatchObject({ code: 0 });
	expect([isAlive(one.pid), isAlive(two.pid)]).toEqual([false, true]);
	expect([ofCalls(ws, one.agent).length, ofCalls(ws, two.agent).length]).toEqual([0, 1]);
	await expectStopped(ws, two.agent, await two.stop());
});

const HARD_MS = 6000;

verifies(
	["stop-hard", "core-28.22", "core-28.23"],
	"a driver that stands still is killed after six seconds with all that its open calls started",
	async () => {
		const ws = await create();
		tickTool(ws, "slow", `${startFamily(ws)}\n: > ${ws.path("slow.ready")}\nwait`);
		const run = await isRunning(ws);
		process.kill(run.pid, "SIGSTOP");
		const from = performance.now();
		const ran = await ws.in(["stop", run.agent]);
		expect(performance.now() - from).toBeGreaterThanOrEqual(HARD_MS);
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect([isAlive(run.pid), familyOf(ws).filter(isAlive), ofCalls(ws, run.agent)]).toEqual([false, [], []]);
		expect(familyOf(ws)).toHaveLength(4);
		expect(await run.ended).toMatchObject({ signal: "SIGKILL" });
		expect(leaseFree(ws, run.agent)).toBe(true);
		expect(await ws.advance(run.agent)).toMatchObject({ code: 0 });
		expect(ws.results(run.agent)[0]?.text).toContain("It is unknown whether the call ran");
		expectPaired(ws, run.agent);
		expect(ticks(ws)).toEqual(["slow"]);
	},
);

verifies(
	["stop-hard", "core-28.23"],
	"a grace longer than six seconds does not keep `stop`: it kills what is left, though the tool's leader is gone",
	async () => {
		const ws = await create({ workflow: { tool_grace_seconds: 600 } });
		// The leader goes, what it started stays and keeps the driver waiting.
		tickTool(ws, "slow", `${startFamily(ws)}\ntrap 'exit 0' TERM\n: > ${ws.path("slow.ready")}\nwait`);
		const run = await isRunning(ws);
		const ran = await ws.in(["stop", run.agent]);
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect([isAlive(run.pid), familyOf(ws).filter(isAlive), ofCalls(ws, run.agent)]).toEqual([false, [], []]);
		await run.ended;
		expect(leaseFree(ws, run.agent)).toBe(true);
		expect(await ws.advance(run.agent)).toMatchObject({ code: 0 });
		expectPaired(ws, run.agent);
	},
);

/** A process that has nothing to do with any of this, until the test ends. */
const bystander = async (): Promise<number> => {
	const child = spawn("sleep", ["600"], { stdio: "ignore" });
	const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
	onTestFinished(async () => {
		child.kill("SIGKILL");
		await ended;
	});
	if (child.pid === undefined) throw new Error("it did not start");
	return child.pid;
};

verifies(
	"stop-vetted",
	"a process that has the number of a dead driver, or of one of its groups, is not signalled",
	async () => {
		const ws = await create();
		waitingTool(ws, "slow");
		const run = await isRunning(ws);
		await run.stop("SIGKILL");
		const innocent = await bystander();
		const owner = JSON.parse(ws.git("cat-file", "blob", `refs/lernie/owner/${run.agent}`)) as Record<string, unknown>;
		const forged = ws.gitInput(JSON.stringify({ ...owner, pid: innocent }), "hash-object", "-w", "--stdin").trim();
		ws.git("update-ref", `refs/lernie/owner/${run.agent}`, forged);
		const record = `ws/steps/${run.agent}/001/tools/t1/process.json`;
		const group = JSON.parse(ws.read(record)) as Record<string, unknown>;
		ws.write(record, JSON.stringify({ ...group, pgid: innocent }));
		expect(await ws.in(["stop", run.agent])).toMatchObject({ code: 0 });
		expect(isAlive(innocent), "while nobody drives").toBe(true);
		// Somebody else, who is in no record, has the lease.
		const release = await holdLease(ws, run.agent);
		await ws.in(["stop", run.agent]);
		expect(isAlive(innocent), "while somebody holds the lease").toBe(true);
		await release();
		expect(await ws.advance(run.agent)).toMatchObject({ code: 0 });
		expect(isAlive(innocent), "after the next drive").toBe(true);
	},
);

verifies("stop-own-group", "an agent that stops itself from one of its calls ends as stopped", async () => {
	const place = createPlace();
	const lernie = `PATH=${dirname(process.execPath)}:$PATH ${LAUNCHER}`;
	const command = `${lernie} -w ${place.path("ws")} stop "$LERNIE_CONV_BRANCH"; sleep 600`;
	const script = { calls: [{ tools: [{ id: "t1", name: "bash", input: { command } }] }, { say: "done" }] };
	const ws = await create({ script }, place);
	const run = await startRun(ws);
	await expectStopped(ws, run.agent, await run.ended);
	expect(processesNaming(ws.root)).toEqual([]);
});

verifies("stop-left", "where nobody drives, what a killed driver left is ended", async () => {
	const ws = await create();
	tickTool(ws, "slow", `${startFamily(ws)}\n: > ${ws.path("slow.ready")}\nwait`);
	const run = await isRunning(ws);
	process.kill(run.pid, "SIGKILL");
	await run.ended;
	expect(familyOf(ws).filter(isAlive)).toHaveLength(4);
	const ran = await ws.in(["--json", "stop", run.agent]);
	expect([ran.code, JSON.parse(ran.stdout)]).toEqual([0, { id: run.agent, outcome: "idle" }]);
	expect([familyOf(ws).filter(isAlive), ofCalls(ws, run.agent)]).toEqual([[], []]);
	expect(await ws.advance(run.agent)).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["slow"]);
});

verifies("stop-verb", "with --json it prints one document", async () => {
	const ws = await create();
	waitingTool(ws, "slow");
	const run = await isRunning(ws);
	const ran = await ws.in(["--json", "stop", run.agent]);
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(JSON.parse(ran.stdout)).toEqual({ id: run.agent, outcome: "stopped" });
	await expectStopped(ws, run.agent, await run.ended);
});

verifies("stop-verb", "a driver that has ended and whose parent does not notice counts as gone", async () => {
	const ws = await create();
	waitingTool(ws, "slow");
	// The shell starts the driver and becomes a program that never asks after its children.
	const line = 'cd "$1"; shift; "$@" > driver.out 2>&1 & exec sleep 600';
	const args = [ws.root, process.execPath, LAUNCHER, "-w", ws.dir, "run", "go"];
	const env = { ...ws.env, LERNIE_SCRIPT: ws.path("script.yaml") };
	const parent = spawn("sh", ["-c", line, "sh", ...args], { env, stdio: "ignore" });
	const ended = new Promise<void>((resolve) => parent.once("close", () => resolve()));
	await isReady(ws, "slow");
	const agent = ws.read("driver.out").split(" ")[1] ?? "";
	const from = performance.now();
	const ran = await ws.in(["--json", "stop", agent]);
	expect(performance.now() - from).toBeLessThan(HARD_MS);
	expect([ran.code, JSON.parse(ran.stdout)]).toEqual([0, { id: agent, outcome: "stopped" }]);
	expect(await stateOf(ws, agent)).toBe("stopped");
	parent.kill("SIGKILL");
	await ended;
});
