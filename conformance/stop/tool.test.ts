import { spawn } from "node:child_process";
import { expect } from "vitest";
import { ticks, tickTool } from "../support/controls.ts";
import {
	expectSettled,
	expectStopped,
	isReady,
	resultsOf,
	STOP_SIGNALS,
	startRun,
	waitingTool,
} from "../support/driving.ts";
import { createPlace, isAlive, LAUNCHER, type Ran } from "../support/place.ts";
import { familyOf, printLiving, startFamily } from "../support/processes.ts";
import { stepFile } from "../support/scenario.ts";
import { transcriptOf } from "../support/transcript.ts";
import { verifies } from "../support/verifies.ts";
import { quiet, recorded, stateOf, steps } from "../support/window.ts";
import { createWorkspace, type Script, type Workspace, type WorkspaceOptions } from "../support/workspace.ts";

const SLOW: Script["calls"] = [
	{ tools: [{ id: "t1", name: "slow" }] },
	{ expect: { tool_result: "stopped" }, say: "done" },
];

const create = (
	calls: Script["calls"] = SLOW,
	workflow: WorkspaceOptions["workflow"] = {},
	place = createPlace(),
): Promise<Workspace> => {
	tickTool(place, "tick");
	waitingTool(place, "slow");
	return createWorkspace({ place, script: { calls }, tools: ["slow", "tick", "bash"], workflow });
};

const first = (ws: Workspace, agent: string) => resultsOf(transcriptOf(ws, agent))[0];

for (const signal of STOP_SIGNALS)
	verifies(
		["core-11", "cli-F9", "tools-105", "harness-C49"],
		`${signal} while a tool runs: the tool is ended and its call is answered as stopped`,
		async () => {
			const ws = await create();
			const run = await startRun(ws);
			await isReady(ws, "slow");
			await expectStopped(ws, run.agent, await run.stop(signal));
			expect(ws.results(run.agent)).toHaveLength(1);
			expectSettled(first(ws, run.agent), "started");
			expect([ticks(ws), recorded(ws, run.agent), steps(ws, run.agent)]).toEqual([["slow"], ["001/t1"], 1]);
			expect(ws.exists(stepFile(run.agent, "001", "tools", "t1", "output.json"))).toBe(false);
		},
	);

verifies(
	["core-11", "cli-F12", "stop-revive"],
	"a message to an agent that was stopped in a tool brings it back, and the model reads that it was",
	async () => {
		const ws = await create();
		const run = await startRun(ws);
		await isReady(ws, "slow");
		await expectStopped(ws, run.agent, await run.stop());
		expect(await ws.in(["message", run.agent, "go on"])).toMatchObject({ code: 0 });
		await quiet(ws);
		expect(await stateOf(ws, run.agent)).toBe("done");
		expect(transcriptOf(ws, run.agent).map(({ side }) => side)).toEqual([
			"user",
			"assistant",
			"tool",
			"user",
			"assistant",
		]);
		expect(ticks(ws)).toEqual(["slow"]);
	},
);

verifies("harness-H95", "a shell that is stopped in one command of a list does not go on with the next", async () => {
	const place = createPlace();
	const command = `: > ${place.path("shell.ready")}; sleep 600; echo tick >> ${place.path("ticks.log")}`;
	const ws = await create([{ tools: [{ name: "bash", input: { command } }] }, { say: "done" }], {}, place);
	const run = await startRun(ws);
	await isReady(ws, "shell");
	await expectStopped(ws, run.agent, await run.stop());
	expectSettled(first(ws, run.agent), "started");
	expect(ticks(ws)).toEqual([]);
});

verifies("harness-H95", "neither does one that is stopped while it ignores SIGTERM", async () => {
	const place = createPlace();
	const command = `trap '' TERM; : > ${place.path("shell.ready")}; sleep 600; echo tick >> ${place.path("ticks.log")}`;
	const ws = await create(
		[{ tools: [{ name: "bash", input: { command } }] }, { say: "done" }],
		{ tool_grace_seconds: 0.3 },
		place,
	);
	const run = await startRun(ws);
	await isReady(ws, "shell");
	await expectStopped(ws, run.agent, await run.stop());
	expectSettled(first(ws, run.agent), "started");
	expect(ticks(ws)).toEqual([]);
});

for (const [code, isError] of [
	[0, false],
	[9, true],
] as const)
	verifies(
		["tools-125", "stop-own-exit"],
		`a tool that exits ${code} by itself when it is told to end keeps its output and exit code, and nothing follows`,
		async () => {
			const ws = await create();
			waitingTool(ws, "slow", `echo on my own; exit ${code}`);
			const run = await startRun(ws);
			await isReady(ws, "slow");
			await expectStopped(ws, run.agent, await run.stop());
			expect(first(ws, run.agent)).toMatchObject({ verdict: "none", isError, text: `Exit code: ${code}\non my own\n` });
			expect(steps(ws, run.agent), "model calls").toBe(1);
			expect(ws.exists(stepFile(run.agent, "001", "tools", "t1", "output.json"))).toBe(true);
		},
	);

verifies("tools-125", "a tool that had ended when the stop came keeps its exit code", async () => {
	const ws = await create();
	// It stops its driver itself, deaf to what the driver then sends.
	tickTool(ws, "slow", "trap '' TERM\nkill -TERM $PPID\necho said\nexit 3");
	const run = await startRun(ws);
	await expectStopped(ws, run.agent, await run.ended);
	expect(first(ws, run.agent)).toMatchObject({ verdict: "none", isError: true, text: "Exit code: 3\nsaid\n" });
});

verifies("tools-123", "a tool that ignores SIGTERM is killed when the grace is over, no sooner", async () => {
	const ws = await create(SLOW, { tool_grace_seconds: 0.25 });
	waitingTool(ws, "slow", "");
	const run = await startRun(ws);
	await isReady(ws, "slow");
	const from = performance.now();
	const ran = await run.stop();
	expect(performance.now() - from).toBeGreaterThanOrEqual(250);
	await expectStopped(ws, run.agent, ran);
	expectSettled(first(ws, run.agent), "started");
	expect(ws.exists(stepFile(run.agent, "001", "tools", "t1", "output.json"))).toBe(false);
});

verifies(
	["stop-family", "harness-H92"],
	"everything a stopped tool started is gone when the driver is, in whatever session it is",
	async () => {
		const ws = await create(SLOW, { tool_grace_seconds: 0.2 });
		tickTool(ws, "slow", `${startFamily(ws)}\n: > ${ws.path("slow.ready")}\nwait`);
		const run = await startRun(ws);
		await isReady(ws, "slow");
		expect(familyOf(ws).filter(isAlive)).toHaveLength(4);
		const ran = await run.stop();
		expect(familyOf(ws).filter(isAlive)).toEqual([]);
		await expectStopped(ws, run.agent, ran);
	},
);

verifies("stop-twice", "a second and a third signal change nothing about a stop that is under way", async () => {
	const ws = await create(SLOW, { tool_grace_seconds: 0.5 });
	waitingTool(ws, "slow", `: > ${ws.path("told.ready")}`);
	const run = await startRun(ws);
	await isReady(ws, "slow");
	const ended = run.stop("SIGINT");
	await isReady(ws, "told");
	void run.stop("SIGINT");
	void run.stop("SIGTERM");
	await expectStopped(ws, run.agent, await ended);
	expectSettled(first(ws, run.agent), "started");
});

verifies(
	"harness-H93",
	"a driver that is hung up on, told to end or killed leaves nothing running once the next one has begun",
	async () => {
		for (const signal of ["SIGHUP", "SIGTERM", "SIGKILL"] as const) {
			const ws = await create([{ tools: [{ name: "slow" }] }, { tools: [{ name: "tick" }] }, { say: "done" }], {
				tool_grace_seconds: 0.2,
			});
			tickTool(ws, "slow", `${startFamily(ws)}\n: > ${ws.path("slow.ready")}\nwait`);
			// The first thing that the next drive starts looks whether anything is left.
			tickTool(ws, "tick", printLiving(`$(cat ${ws.path("family")}/*)`));
			const run = await startRun(ws);
			await isReady(ws, "slow");
			expect(await run.stop(signal)).toMatchObject(signal === "SIGKILL" ? { signal } : { code: 11 });
			const pids = familyOf(ws);
			expect(pids).toHaveLength(4);
			const ran = await ws.advance(run.agent);
			expect(ran, ran.stderr).toMatchObject({ code: 0 });
			expect(ws.results(run.agent)[1]?.text, signal).toBe("Exit code: 0\n");
			expect(pids.filter(isAlive), signal).toEqual([]);
			expect(ticks(ws)).toEqual(["slow", "tick"]);
		}
	},
);

verifies(
	"stop-own-exit",
	"what a tool does after it was told to end is waited for, and no longer than the grace",
	async () => {
		const ws = await create(SLOW, { tool_grace_seconds: 5 });
		waitingTool(ws, "slow", "sleep 0.3; echo cleaned up; exit 0");
		const run = await startRun(ws);
		await isReady(ws, "slow");
		await expectStopped(ws, run.agent, await run.stop());
		expect(first(ws, run.agent)?.text).toBe("Exit code: 0\ncleaned up\n");
	},
);

/** Presses the key for an interrupt again and again: what a terminal does then reaches all of its foreground group. */
const hammer = async (ws: Workspace, from: (said: string) => boolean): Promise<Ran> => {
	const child = spawn(process.execPath, [LAUNCHER, "-w", ws.dir, "run", "go"], {
		env: { ...ws.env, LERNIE_SCRIPT: ws.path("script.yaml") },
		detached: true,
		stdio: ["ignore", "ignore", "pipe"],
	});
	let stderr = "";
	child.stderr.setEncoding("utf8").on("data", (text: string) => {
		stderr += text;
	});
	const timer = setInterval(() => {
		if (from(stderr)) process.kill(-(child.pid ?? 0), "SIGINT");
	}, 10);
	// At the exit, not later: the number of the group may be another's then.
	child.once("exit", () => clearInterval(timer));
	return new Promise((resolve) => child.once("close", (code, signal) => resolve({ code, signal, stdout: "", stderr })));
};

verifies(
	"stop-twice",
	"interrupts at a terminal, which reach every helper of the drive as well, are one stop however many they are",
	async () => {
		const ws = await create();
		const early = await hammer(ws, (said) => said.startsWith("agent "));
		await expectStopped(ws, early.stderr.split(" ")[1] ?? "", early);
		const late = await hammer(ws, () => ws.exists("slow.ready"));
		await expectStopped(ws, late.stderr.split(" ")[1] ?? "", late);
	},
);
