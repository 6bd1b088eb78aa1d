import { expect } from "vitest";
import { answeredControl, approve, loggingTool, startsIn } from "../support/answers.ts";
import { consults } from "../support/controls.ts";
import { expectPaired } from "../support/driving.ts";
import { createPlace, until } from "../support/place.ts";
import { atRest } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { heldCalls, quiet, steps } from "../support/window.ts";
import { createWorkspace, digestOf, type Script, type Workspace } from "../support/workspace.ts";

const ask = (id: string, n: number) => ({ id, name: "ask", input: { n } });
const tick = (id: string) => ({ id, name: "tick", input: { id } });
const DONE = { say: "done" };

const create = (calls: Script["calls"]): Promise<Workspace> => {
	const place = createPlace();
	for (const name of ["ask", "tick"]) loggingTool(place, name);
	return createWorkspace({ place, script: { calls }, tools: ["ask", "tick"], control: answeredControl(place) });
};

/** What ran of an agent, without its id. */
const ranOf = (ws: Workspace, agent: string): readonly string[] =>
	startsIn(ws)
		.filter((line) => line.startsWith(`${agent} `))
		.map((line) => line.slice(agent.length + 1));

const digest = (agent: string, id: string, n: number) => ({
	digest: digestOf({ id, name: "ask", input: `{"n":${n}}` }, agent),
});

const oneHeld = async (ws: Workspace, id: string) => {
	const held = await heldCalls(ws);
	expect(held).toMatchObject([{ tool_use_id: id }]);
	return held[0] as (typeof held)[number];
};

verifies(
	"harness-B23",
	"an approved call that acted and was not recorded is not run again by its approval",
	async () => {
		const ws = await create([{ tools: [ask("c1", 1)] }, { tools: [ask("c2", 1)] }, DONE]);
		const { agent } = await ws.run();
		approve(ws, await oneHeld(ws, "c1"));
		expect(await ws.advance(agent, { env: { LERNIE_CRASH_AT: "tool.exited" } })).toMatchObject({ signal: "SIGKILL" });
		expect(ranOf(ws, agent)).toEqual(['ask {"n":1}']);
		expect(await ws.advance(agent)).toMatchObject({ code: 10 });
		expect(ws.results(agent)).toMatchObject([{ id: "c1", text: expect.stringContaining("It is unknown whether") }]);
		// The model asks for the same again: that is another call, and waits for an answer of its own.
		await oneHeld(ws, "c2");
		expect(ranOf(ws, agent)).toEqual(['ask {"n":1}']);
	},
);

verifies(
	["harness-B24", "harness-B25", "harness-B32"],
	"what ran before a held call runs once however often the agent is driven, and both results are in the next request",
	async () => {
		const ws = await create([{ tools: [tick("c1"), ask("c2", 2)] }, DONE]);
		const { agent } = await ws.run();
		for (const _ of [1, 2]) expect(await ws.advance(agent)).toMatchObject({ code: 10 });
		expect([ranOf(ws, agent), steps(ws, agent)]).toEqual([['tick {"id":"c1"}'], 1]);
		approve(ws, await oneHeld(ws, "c2"));
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ranOf(ws, agent)).toEqual(['tick {"id":"c1"}', 'ask {"n":2}']);
		const request = ws.read(`ws/steps/${agent}/002/request.json`);
		for (const id of ["c1", "c2"]) expect(request.split(`"tool_use_id":"${id}"`)).toHaveLength(2);
		expectPaired(ws, agent);
	},
);

verifies("harness-B31", "of two calls held in one message each is answered once in the next request", async () => {
	const ws = await create([{ tools: [ask("c1", 1), ask("c2", 2)] }, DONE]);
	const { agent } = await ws.run();
	approve(ws, await oneHeld(ws, "c1"));
	expect(await ws.advance(agent)).toMatchObject({ code: 10 });
	approve(ws, await oneHeld(ws, "c2"));
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	const request = ws.read(`ws/steps/${agent}/002/request.json`);
	for (const id of ["c1", "c2"]) {
		expect(request.split(`"tool_use_id":"${id}"`), id).toHaveLength(2);
		expect(request.split(`"id":"${id}"`), id).toHaveLength(2);
	}
	expect(ranOf(ws, agent)).toEqual(['ask {"n":1}', 'ask {"n":2}']);
});

verifies(
	"harness-B33",
	"an answer holds though another part of the configuration changes before the drive",
	async () => {
		const ws = await create([{ tools: [ask("c1", 1)] }, DONE]);
		const { agent } = await ws.run();
		approve(ws, await oneHeld(ws, "c1"));
		ws.reconfigure(agent, { workflow: { tool_output: { head_bytes: 10, tail_bytes: 10 } }, role: { max_tokens: 77 } });
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ranOf(ws, agent)).toEqual(['ask {"n":1}']);
	},
);

for (const first of [1, 2])
	verifies(
		"harness-B36",
		`two held calls of one tool, the ${first === 1 ? "first" : "second"} answered first: each runs once`,
		async () => {
			const ws = await create([{ tools: [ask("c1", 1), ask("c2", 2)] }, DONE]);
			const { agent } = await ws.run();
			approve(ws, digest(agent, `c${first}`, first));
			expect(await ws.advance(agent)).toMatchObject({ code: 10 });
			expect(ranOf(ws, agent)).toEqual(first === 1 ? ['ask {"n":1}'] : []);
			approve(ws, digest(agent, `c${3 - first}`, 3 - first));
			expect(await ws.advance(agent)).toMatchObject({ code: 0 });
			expect(ranOf(ws, agent)).toEqual(['ask {"n":1}', 'ask {"n":2}']);
			expectPaired(ws, agent);
		},
	);

verifies(
	"harness-B37",
	"two agents with two held calls each, the same in both, answered and driven at once: no answer serves another's call",
	async () => {
		const ws = await create([{ tools: [ask("c1", 1), ask("c2", 2)] }, DONE]);
		const agents = await Promise.all([ws.run(), ws.run()]).then((runs) => runs.map(({ agent }) => agent));
		const [one = "", two = ""] = agents;
		for (const [agent, n] of [
			[one, 2],
			[one, 1],
		] as const)
			approve(ws, digest(agent, `c${n}`, n));
		const codes = await Promise.all([one, two].map(async (agent) => (await ws.advance(agent)).code));
		expect([codes, ranOf(ws, two)]).toEqual([[0, 10], []]);
		for (const n of [2, 1]) approve(ws, digest(two, `c${n}`, n));
		const both = await Promise.all([one, two].map(async (agent) => (await ws.advance(agent)).code));
		expect(both).toEqual([0, 0]);
		for (const agent of agents) {
			expect(ranOf(ws, agent)).toEqual(['ask {"n":1}', 'ask {"n":2}']);
			expectPaired(ws, agent);
		}
	},
);

verifies(
	"harness-B39",
	"of ten calls every other one held, all ten results are there in order after five resumes",
	async () => {
		const ids = Array.from({ length: 10 }, (_, at) => `c${at}`);
		const ws = await create([{ tools: ids.map((id, at) => (at % 2 === 0 ? tick(id) : ask(id, at))) }, DONE]);
		const { agent } = await ws.run();
		for (const at of [1, 3, 5, 7, 9]) {
			approve(ws, await oneHeld(ws, `c${at}`));
			expect(await ws.advance(agent)).toMatchObject({ code: at === 9 ? 0 : 10 });
		}
		expect(ws.results(agent).map(({ id, isError }) => [id, isError])).toEqual(ids.map((id) => [id, false]));
		expect(ranOf(ws, agent)).toHaveLength(10);
		expectPaired(ws, agent);
	},
	120_000,
);

verifies(
	["harness-B40", "harness-B41"],
	"three held calls answered from the last to the first: none runs by another's answer, each is listed and runs in its turn",
	async () => {
		const ws = await create([{ tools: [1, 2, 3].map((n) => ask(`c${n}`, n)) }, DONE]);
		const { agent } = await ws.run();
		for (const n of [3, 2]) {
			approve(ws, digest(agent, `c${n}`, n));
			expect(await ws.advance(agent)).toMatchObject({ code: 10 });
			await oneHeld(ws, "c1");
			expect(ranOf(ws, agent)).toEqual([]);
		}
		approve(ws, digest(agent, "c1", 1));
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ranOf(ws, agent)).toEqual(['ask {"n":1}', 'ask {"n":2}', 'ask {"n":3}']);
		const other = await ws.run();
		for (const n of [1, 2, 3]) {
			const held = (await heldCalls(ws)).filter((call) => call.agent === other.agent);
			expect(held).toMatchObject([{ tool_use_id: `c${n}`, input: { n } }]);
			for (const call of held) approve(ws, call);
			expect(await ws.advance(other.agent)).toMatchObject({ code: n === 3 ? 0 : 10 });
		}
		expect(ranOf(ws, other.agent)).toEqual(ranOf(ws, agent));
	},
);

verifies(
	"harness-B45",
	"messages to a held agent leave it held: no model call, no second mark; they come after the result",
	async () => {
		const ws = await create([{ tools: [ask("c1", 1)] }, DONE]);
		const { agent } = await ws.run();
		const [mark, asked] = [ws.mark(agent), consults(ws).length];
		for (const [nth, text] of ["well?", "and now?"].entries()) {
			expect(await ws.in(["message", agent, text])).toMatchObject({ code: 0 });
			await until("the woken drive has asked and rests", () => consults(ws).length > asked + nth && atRest(ws, agent));
			await quiet(ws);
		}
		expect(await ws.advance(agent)).toMatchObject({ code: 10 });
		expect([ws.mark(agent), steps(ws, agent), ranOf(ws, agent)]).toEqual([mark, 1, []]);
		expect(ws.git("for-each-ref", "refs/lernie/held").trim().split("\n")).toHaveLength(1);
		approve(ws, await oneHeld(ws, "c1"));
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ws.entries(agent).map(({ file }) => file.slice(4))).toEqual([
			"user.md",
			"model-a.json",
			"tool.json",
			"user.md",
			"user.md",
			"model-a.json",
		]);
	},
);
