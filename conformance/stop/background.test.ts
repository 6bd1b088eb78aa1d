import { expect } from "vitest";
import { shellControl, tableControl, tickTool } from "../support/controls.ts";
import { isReady, startAdvance, startRun, waitingTool } from "../support/driving.ts";
import { createPlace, isAlive, type Place, until } from "../support/place.ts";
import { ofCalls, printLiving } from "../support/processes.ts";
import { verifies } from "../support/verifies.ts";
import { HOLD, stateOf } from "../support/window.ts";
import { createWorkspace, type Script, type Workspace, type WorkspaceOptions } from "../support/workspace.ts";

/**
 * Starts two processes that outlive their call and say who they are: a job of its shell, and a daemon in a session of its
 * own with its parent gone.
 */
const leave = (onTerm: "dies" | "deaf" = "dies") => {
	const daemon = `${onTerm === "deaf" ? 'trap "" TERM; ' : ""}echo $$ > "$LERNIE_HOME/left/daemon"; while :; do sleep 1; done`;
	const command = [
		'mkdir -p "$LERNIE_HOME/left"',
		"sleep 600 > /dev/null 2>&1 &",
		'echo $! > "$LERNIE_HOME/left/job"',
		`(setsid sh -c '${daemon}' > /dev/null 2>&1 &)`,
		'until [ -s "$LERNIE_HOME/left/daemon" ]; do sleep 0.01; done',
	].join("\n");
	return { id: "t1", name: "bash", input: { command } };
};

const LEAVE = leave();

const left = (place: Place): readonly number[] =>
	["daemon", "job"].map((name) => Number(place.read(`home/left/${name}`)));

/** Says which of what was left still runs. */
const PROBE = { name: "bash", input: { command: printLiving('$(cat "$LERNIE_HOME"/left/*)') } };

const seen = (pids: readonly number[]): string => ["Exit code: 0", ...pids, ""].join("\n");

const create = (calls: Script["calls"], options: Partial<WorkspaceOptions> = {}): Promise<Workspace> => {
	const place = options.place ?? createPlace();
	tickTool(place, "slow");
	tickTool(place, "ask");
	return createWorkspace({ place, script: { calls }, tools: ["bash", "slow", "ask"], ...options });
};

verifies(
	"background-ended",
	"what a call left in the background lives while its drive goes on, and is ended with the drive",
	async () => {
		const ws = await create([{ tools: [leave("deaf")] }, { tools: [PROBE] }, { say: "done" }]);
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(ws.results(ran.agent)[1]?.text).toBe(seen(left(ws)));
		expect(left(ws).filter(isAlive)).toEqual([]);
		expect(ofCalls(ws, ran.agent)).toEqual([]);
	},
);

const controlled = (answer: string) => {
	const place = createPlace();
	return { place, control: tableControl(place, { ask: answer }) };
};

const ENDS: readonly (readonly [number, string, () => readonly [Script["calls"], Partial<WorkspaceOptions>]])[] = [
	[10, "held", () => [[{ tools: [LEAVE, { name: "ask" }] }], controlled(HOLD)]],
	[14, "at a control fault", () => [[{ tools: [LEAVE, { name: "ask" }] }], controlled("{}")]],
	[12, "at a limit", () => [[{ tools: [LEAVE] }, { say: "never" }], { workflow: { limits: { steps: 1 } } }]],
	[13, "at a model failure", () => [[{ tools: [LEAVE] }, { attempts: [{ error: { status: 400 } }] }], {}]],
	[1, "at a fault", () => [[{ tools: [LEAVE, { name: "slow" }] }], {}]],
];

for (const [code, name, make] of ENDS)
	verifies("background-ended", `a drive that ends ${name} ends what its calls left in the background`, async () => {
		const [calls, options] = make();
		const ws = await create(calls, options);
		tickTool(ws, "slow", "kill -SEGV $$");
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code });
		expect(left(ws).filter(isAlive)).toEqual([]);
		expect(ofCalls(ws, ran.agent)).toEqual([]);
	});

verifies("background-ended", "a stopped drive ends what its calls left in the background", async () => {
	const ws = await create([{ tools: [LEAVE, { name: "slow" }] }]);
	waitingTool(ws, "slow");
	const run = await startRun(ws);
	await isReady(ws, "slow");
	expect(left(ws).filter(isAlive)).toHaveLength(2);
	expect(await run.stop()).toMatchObject({ code: 11 });
	expect(left(ws).filter(isAlive)).toEqual([]);
});

verifies(
	"background-recovered",
	"what a killed drive's calls left in the background is gone before the next drive starts anything, also of calls it had answered",
	async () => {
		const ws = await create([{ tools: [leave("deaf"), { name: "slow" }] }, { tools: [PROBE] }, { say: "done" }]);
		waitingTool(ws, "slow");
		const run = await startRun(ws);
		await isReady(ws, "slow");
		await run.stop("SIGKILL");
		const pids = left(ws);
		expect(pids.filter(isAlive)).toHaveLength(2);
		expect(await ws.advance(run.agent)).toMatchObject({ code: 0 });
		expect(ws.results(run.agent).at(-1)?.text).toBe(seen([]));
		expect(pids.filter(isAlive)).toEqual([]);
	},
);

verifies(
	"background-recovered",
	"so is what an earlier step's call left, when the drive was killed between two calls",
	async () => {
		const ws = await create([{ tools: [LEAVE] }, { say: "hm", tools: [PROBE] }, { say: "done" }]);
		const { agent, signal } = await ws.run("go", { env: { LERNIE_CRASH_AT: "call.request#2" } });
		expect([signal, left(ws).filter(isAlive).length]).toEqual(["SIGKILL", 2]);
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ws.results(agent).at(-1)?.text).toBe(seen([]));
		expect(left(ws).filter(isAlive)).toEqual([]);
	},
);

verifies(
	"background-recovered",
	"a held agent whose driver was killed as it parked is looked after by the drive that asks again",
	async () => {
		const { place, control } = controlled(HOLD);
		const ws = await create([{ tools: [LEAVE, { name: "ask" }] }], { place, control });
		const { agent, signal } = await ws.run("go", { env: { LERNIE_CRASH_AT: "mark.written" } });
		expect([signal, left(ws).filter(isAlive).length]).toEqual(["SIGKILL", 2]);
		// The control writes down what it sees when it is asked the next time.
		shellControl(
			place,
			`{ ${printLiving(`$(cat ${place.path("home/left")}/*)`)}; } > ${place.path("seen")}; printf '%s' '${HOLD}'`,
		);
		expect(await ws.advance(agent)).toMatchObject({ code: 10 });
		expect([place.read("seen"), left(ws).filter(isAlive)]).toEqual(["", []]);
	},
);

/** An agent that is founded and was not driven. */
const founded = async (ws: Workspace): Promise<string> => {
	await ws.run("go", { env: { LERNIE_CRASH_AT: "found.directory" } });
	return ws.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/agents").trim();
};

const hop = (ws: Workspace, agent: string) => ws.advance(agent, { flags: ["--hop"] });

verifies("background-hops", "between two hops it lives on, and the hop that comes to rest ends it", async () => {
	const ws = await create([{ tools: [LEAVE] }, { tools: [PROBE] }, { say: "done" }]);
	const agent = await founded(ws);
	for (const _ of [1, 2]) {
		expect(await hop(ws, agent)).toMatchObject({ code: 0 });
		expect(left(ws).filter(isAlive)).toHaveLength(2);
	}
	expect(ws.results(agent)[1]?.text).toBe(seen(left(ws)));
	expect(await hop(ws, agent)).toMatchObject({ code: 0 });
	expect([await stateOf(ws, agent), left(ws).filter(isAlive)]).toEqual(["done", []]);
});

verifies("background-hops", "a hop that is held, stopped or fails ends it", async () => {
	for (const [code, second] of [
		[10, { name: "ask" }],
		[11, { name: "slow" }],
		[1, { name: "dies" }],
	] as const) {
		const { place, control } = controlled(HOLD);
		tickTool(place, "dies", "kill -SEGV $$");
		const tools = ["bash", "slow", "ask", "dies"];
		const ws = await create([{ tools: [LEAVE] }, { tools: [second] }], { place, control, tools });
		waitingTool(ws, "slow");
		const agent = await founded(ws);
		expect(await hop(ws, agent)).toMatchObject({ code: 0 });
		expect(left(ws).filter(isAlive)).toHaveLength(2);
		const next = startAdvance(ws, agent, { flags: ["--hop"] });
		if (code === 11) {
			await isReady(ws, "slow");
			await next.stop();
		}
		expect(await next.ended).toMatchObject({ code });
		expect(left(ws).filter(isAlive), `exit ${code}`).toEqual([]);
	}
});

verifies("background-own", "the end of one agent's drive leaves what another agent started alone", async () => {
	const ws = await create([{ tools: [LEAVE, { name: "slow" }] }, { say: "done" }]);
	waitingTool(ws, "slow");
	const one = await startRun(ws);
	await isReady(ws, "slow");
	const pids = left(ws);
	ws.setScript({ calls: [{ tools: [{ name: "bash", input: { command: "true" } }] }, { say: "done" }] });
	expect(await ws.run()).toMatchObject({ code: 0 });
	expect(pids.filter(isAlive)).toEqual(pids);
	await one.stop();
	await until("it is gone", () => pids.filter(isAlive).length === 0);
});
