import { expect } from "vitest";
import {
	END_LINE,
	expectStopped,
	isReady,
	lastRecord,
	responseLines,
	STOP_SIGNALS,
	startAdvance,
	startRun,
} from "../support/driving.ts";
import { answer, begin, createModelled, SENDS, say, sends, shellModel } from "../support/model.ts";
import { processesNaming, until } from "../support/place.ts";
import { jsonLines } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { files, quiet, stateOf, steps } from "../support/window.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const STALL = { calls: [{ stall: true }] };

/** Waits until the model has begun to answer in a step. */
const answering = (ws: Workspace, agent: string, step: string): Promise<boolean> => {
	const file = `ws/steps/${agent}/${step}/response.json`;
	return until("the answer has begun", () => ws.exists(file) && ws.read(file) !== "");
};

for (const signal of STOP_SIGNALS)
	verifies(
		["core-11", "cli-F9", "tools-221", "stop-signals"],
		`${signal} during a model call ends it: 11, no end in its record, the transcript as it was`,
		async () => {
			const ws = await createWorkspace({ script: STALL });
			const run = await startRun(ws, { flags: ["--json"] });
			await answering(ws, run.agent, "001");
			const tip = ws.tip(run.agent);
			const ran = await run.stop(signal);
			await expectStopped(ws, run.agent, ran);
			expect(jsonLines(ran.stdout).at(-1)).toEqual({ type: "end", state: "stopped", exit: 11 });
			expect(responseLines(ws, run.agent, "001")).not.toContain(END_LINE);
			expect([ws.tip(run.agent), files(ws, run.agent)]).toEqual([tip, ["001-user.md"]]);
		},
	);

verifies(
	["core-11", "cli-F9"],
	"`advance` stops in a model call as `run` does, and the next one makes the call again",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ say: "hello" }, { stall: true }] } });
		const { agent } = await ws.run();
		ws.write(`ws/inbox/${agent}/user-001.md`, "---\nfrom: user\ndeposited_at: 2026-01-01T00:00:00Z\n---\nmore");
		const advance = startAdvance(ws, agent, { flags: ["--json"] });
		await answering(ws, agent, "002");
		const ran = await advance.stop("SIGINT");
		await expectStopped(ws, agent, ran);
		expect(jsonLines(ran.stdout).at(-1)).toEqual({ type: "end", state: "stopped", exit: 11 });
		ws.setScript({ calls: [{ say: "hello" }, { say: "done" }] });
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(files(ws, agent)).toEqual(["001-user.md", "002-model-a.json", "003-user.md", "004-model-a.json"]);
		expect(await stateOf(ws, agent)).toBe("done");
	},
);

verifies(
	["core-11", "cli-F12", "stop-revive"],
	"a message to an agent that was stopped in a model call brings it back with both messages",
	async () => {
		const ws = await createWorkspace({ script: STALL });
		const run = await startRun(ws);
		await answering(ws, run.agent, "001");
		await expectStopped(ws, run.agent, await run.stop());
		ws.setScript({ calls: [{ expect: { user: "another thing" }, say: "done" }] });
		expect(await ws.in(["message", run.agent, "another thing"])).toMatchObject({ code: 0 });
		await quiet(ws);
		expect(files(ws, run.agent)).toEqual(["001-user.md", "002-user.md", "003-model-a.json"]);
		expect(await stateOf(ws, run.agent)).toBe("done");
	},
);

verifies(["core-11", "stop-signals"], "a stop before the answer begins is a stop as well", async () => {
	const ws = await createWorkspace({ script: { calls: [{ delay_ms: 600_000, say: "never" }] } });
	const run = await startRun(ws);
	await until("the request is on record", () => ws.exists(`ws/steps/${run.agent}/001/request.json`));
	await expectStopped(ws, run.agent, await run.stop("SIGHUP"));
	expect(files(ws, run.agent)).toEqual(["001-user.md"]);
});

verifies("stop-signals", "a signal right after the agent was announced is handled, never the death of it", async () => {
	const ws = await createWorkspace({ script: { calls: [{ delay_ms: 600_000, say: "never" }] } });
	for (const signal of STOP_SIGNALS) {
		const run = await startRun(ws);
		const ran = await run.stop(signal);
		await expectStopped(ws, run.agent, ran);
		expect(ws.entries(run.agent).length).toBeLessThanOrEqual(1);
	}
});

for (const [how, trap] of [
	["dies of SIGTERM", ""],
	["is deaf to it", "trap '' TERM\n"],
	["ends its answer because of it", `trap 'echo "${END_LINE.replaceAll('"', '\\"')}"; exit 0' TERM\n`],
] as const)
	verifies(
		["core-11", "stop-model-program"],
		`a program that plays the model and ${how} is ended with its child, and what it says is dropped`,
		async () => {
			const body = `sleep 600 & ${trap}${SENDS}\n: > $here/../model.ready\nwhile :; do sleep 0.05; done`;
			const ws = await createModelled((place) => shellModel(place, body));
			sends(ws, [[begin, ...say("half of it")], answer("done")]);
			const run = await startRun(ws, { flags: ["--json"] });
			await isReady(ws, "model");
			await until("its text is shown", () => run.output().stdout.includes("half of it"));
			const ran = await run.stop();
			await expectStopped(ws, run.agent, ran);
			expect(processesNaming(ws.root)).toEqual([]);
			expect(jsonLines(ran.stdout).at(-1)).toEqual({ type: "end", state: "stopped", exit: 11 });
			expect(files(ws, run.agent)).toEqual(["001-user.md"]);
		},
	);

const RETRY = { workflow: { retry: { base_ms: 600_000, cap_ms: 600_000, jitter: 0 } } };
const FAILS = { attempts: [{ error: { status: 503 } }], say: "never" };

verifies(
	["core-11", "tools-223"],
	"a stop in the pause before another attempt: no further attempt, the transcript as it was",
	async () => {
		const ws = await createWorkspace({ script: { calls: [FAILS] }, ...RETRY });
		const run = await startRun(ws, { flags: ["--json"] });
		await until("the pause", () => run.output().stdout.includes('"type":"retry"'));
		const ran = await run.stop();
		await expectStopped(ws, run.agent, ran);
		const events = jsonLines(ran.stdout);
		expect(events.filter(({ type }) => type === "retry")).toHaveLength(1);
		expect(events.at(-1)).toEqual({ type: "end", state: "stopped", exit: 11 });
		expect(responseLines(ws, run.agent, "001").filter((line) => line === END_LINE)).toHaveLength(1);
		expect([files(ws, run.agent), steps(ws, run.agent)]).toEqual([["001-user.md"], 1]);
		ws.setScript({ calls: [{ say: "done" }] });
		expect(await ws.advance(run.agent)).toMatchObject({ code: 0 });
		expect(steps(ws, run.agent)).toBe(2);
	},
);

verifies(
	"stop-state",
	"an agent is listed as stopped until its branch moves, and its last record says why",
	async () => {
		const ws = await createWorkspace({ script: STALL });
		const run = await startRun(ws);
		await answering(ws, run.agent, "001");
		await expectStopped(ws, run.agent, await run.stop());
		const [row] = JSON.parse((await ws.in(["ls", "--json"])).stdout) as Record<string, unknown>[];
		expect(row).toMatchObject({ state: "stopped", held: null, last_error: { code: "STOPPED" } });
		ws.setScript({ calls: [{ say: "done" }] });
		expect(await ws.advance(run.agent)).toMatchObject({ code: 0 });
		const [later] = JSON.parse((await ws.in(["ls", "--json"])).stdout) as Record<string, unknown>[];
		expect(later).toMatchObject({ state: "done", last_error: null });
		expect(lastRecord(ws, run.agent)).toMatchObject({ code: "STOPPED" });
	},
);
