import { readdirSync } from "node:fs";
import { expect } from "vitest";
import { answerWith, consults, PASS, tableControl, ticks, tickTool } from "../support/controls.ts";
import { createPlace } from "../support/place.ts";
import { faultsOf, openAt, transcriptOf } from "../support/transcript.ts";
import { verifies } from "../support/verifies.ts";
import { HOLD } from "../support/window.ts";
import { createWorkspace, type Script, type Workspace } from "../support/workspace.ts";

const create = (calls: Script["calls"], answers: Readonly<Record<string, string>> = {}): Promise<Workspace> => {
	const place = createPlace();
	for (const name of ["tick", "ask"]) tickTool(place, name, 'echo "$LERNIE_CALL" >> "$LERNIE_HOME/calls.log"');
	return createWorkspace({
		place,
		script: { calls },
		tools: ["tick", "ask", "bash"],
		control: tableControl(place, answers),
	});
};

const expectWellFormed = (ws: Workspace, agent: string): void => {
	const lines = transcriptOf(ws, agent);
	expect([faultsOf(lines), openAt(lines)]).toEqual([[], []]);
	// One line of commits: what a dead driver had written beside it belongs to nothing.
	expect(lines.slice(1).map(({ parent }) => parent)).toEqual(lines.slice(0, -1).map(({ commit }) => commit));
};

const run = (ws: Workspace, at: string) => ws.run("go", { env: { LERNIE_CRASH_AT: at } });

/** What was started of an agent's calls, by step and id. */
const startsOf = (ws: Workspace, agent: string): readonly string[] =>
	ws.exists("home/calls.log")
		? ws
				.read("home/calls.log")
				.split("\n")
				.filter((line) => line.includes(`/${agent}/`))
		: [];

const WINDOW_SITES = [
	"consult.sent",
	"consult.answered",
	"tool.input",
	"tool.spawned",
	"tool.exited",
	"tool.output",
	"result.ref",
];

for (const site of WINDOW_SITES)
	verifies(
		["harness-C47", "harness-C49"],
		`killed at ${site} of any of three calls: each has one outcome in words`,
		async () => {
			const ws = await create([{ tools: [{ name: "tick" }, { name: "tick" }, { name: "tick" }] }, { say: "done" }]);
			for (const nth of [1, 2, 3]) {
				const { agent, signal } = await run(ws, `${site}#${nth}`);
				expect(signal).toBe("SIGKILL");
				expect(await ws.advance(agent)).toMatchObject({ code: 0 });
				expectWellFormed(ws, agent);
				const results = ws.results(agent);
				expect(results.map(({ id }) => id)).toEqual(["call_1", "call_2", "call_3"]);
				const wrong = results.filter(({ isError }) => isError);
				expect(wrong.length).toBeGreaterThanOrEqual(3 - nth);
				for (const { text } of wrong) expect(text).toMatch(/^The call to "tick" did not return: .{20,}/);
				const starts = startsOf(ws, agent);
				expect(new Set(starts).size, starts.join(" ")).toBe(starts.length);
			}
		},
	);

verifies(
	"harness-C52",
	"a call whose arguments were cut off at the output limit is answered and never runs",
	async () => {
		const cut = { say: "so", finish: "length", tools: [{ name: "tick", input: { text: "a rather long argument" } }] };
		const ws = await create([cut, { expect: { tool_result: "cut off" }, say: "done" }]);
		const { agent, code } = await ws.run();
		expect([code, ticks(ws), consults(ws)]).toEqual([0, [], []]);
		expect(ws.results(agent)).toMatchObject([{ id: "call_1", isError: true }]);
		expect(ws.trailers(agent, "Lernie-Verdict")).toEqual(["unusable"]);
		expectWellFormed(ws, agent);
	},
);

for (const [what, at, distinct] of [
	// The call made again within the same second is the same object.
	["the call", "entry.objects#2", false],
	["the result", "entry.objects#3", true],
] as const)
	verifies(
		"harness-C53",
		`killed between the objects of ${what} and its ref: one result, descended from its call`,
		async () => {
			const ws = await create([{ tools: [{ name: "tick" }] }, { say: "done" }]);
			const { agent, signal } = await run(ws, at);
			expect(signal).toBe("SIGKILL");
			const lost = ws
				.git("fsck", "--unreachable", "--no-reflogs")
				.split("\n")
				.filter((line) => / commit /.test(line));
			expect(lost).toHaveLength(1);
			expect(await ws.advance(agent)).toMatchObject({ code: 0 });
			expectWellFormed(ws, agent);
			expect(ws.results(agent)).toHaveLength(1);
			if (distinct) expect(ws.git("rev-list", `agents/${agent}`)).not.toContain(lost[0]?.split(" ")[2]);
			expect(ticks(ws)).toEqual(["tick"]);
		},
	);

verifies(
	"harness-C55",
	"an id used again in the turn and in the next is three calls, each asked about for itself",
	async () => {
		const again = { id: "name:0", name: "ask", input: { same: true } };
		const ws = await create([{ tools: [again, again] }, { tools: [again] }, { say: "done" }], { ask: HOLD });
		const { agent, code } = await ws.run();
		const seen = [ws.mark(agent)];
		answerWith(ws, { "name:0": PASS, ask: HOLD });
		expect([code, (await ws.advance(agent)).code]).toEqual([10, 10]);
		seen.push(ws.mark(agent));
		answerWith(ws, { "name:0~2": PASS, ask: HOLD });
		expect(await ws.advance(agent)).toMatchObject({ code: 10 });
		seen.push(ws.mark(agent));
		expect(seen).toMatchObject([
			{ tool_use_id: "name:0", entry: "002" },
			{ tool_use_id: "name:0~2", entry: "002" },
			{ tool_use_id: "name:0", entry: "005" },
		]);
		answerWith(ws, {});
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ws.results(agent).map(({ id }) => id)).toEqual(["name:0", "name:0~2", "name:0"]);
		expect([new Set(startsOf(ws, agent)).size, ticks(ws)]).toEqual([3, ["ask", "ask", "ask"]]);
		expectWellFormed(ws, agent);
	},
);

verifies(
	"harness-C56",
	"killed in the second use of an id: the second call is closed, the first keeps its result",
	async () => {
		const same = { id: "name:0", name: "tick" };
		const ws = await create([{ tools: [same] }, { tools: [same] }, { say: "done" }]);
		const { agent, signal } = await run(ws, "tool.exited#2");
		expect(signal).toBe("SIGKILL");
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ws.results(agent)).toMatchObject([
			{ id: "name:0", isError: false },
			{ id: "name:0", isError: true, text: expect.stringContaining("It is unknown whether") },
		]);
		expect(ticks(ws)).toEqual(["tick", "tick"]);
		expectWellFormed(ws, agent);
	},
);

const HUGE = 2 * 1024 * 1024;
const STORED_MAX = 64 * 1024;

verifies(
	"harness-C57",
	"two megabytes of arguments are refused before they are stored, and no later request has them",
	async () => {
		const input = { text: "x".repeat(HUGE) };
		const ws = await create([
			{ tools: [{ name: "tick", input }] },
			{ expect: { tool_result: "not usable" }, say: "done" },
		]);
		const { agent, code } = await ws.run();
		expect([code, ticks(ws), consults(ws)]).toEqual([0, [], []]);
		const sizes = ws
			.git("cat-file", "--batch-all-objects", "--batch-check=%(objectsize)")
			.trim()
			.split("\n")
			.map(Number);
		expect(Math.max(...sizes)).toBeLessThan(STORED_MAX);
		expect(ws.read(`ws/steps/${agent}/002/request.json`).length).toBeLessThan(STORED_MAX);
		expect(readdirSync(ws.path("ws/steps", agent, "001"))).not.toContain("tools");
		expectWellFormed(ws, agent);
	},
);
