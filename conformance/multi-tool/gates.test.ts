import { expect } from "vitest";
import {
	answerCalls,
	asked,
	batch,
	createBatchWorkspace,
	type Invocation,
	named,
	noteTool,
	ranTools,
	sectionsOf,
	verdictsOf,
} from "../support/batch.ts";
import { consults } from "../support/controls.ts";
import { createPlace } from "../support/place.ts";
import { type Call, jsonLines } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import {
	faulted,
	files,
	type Held,
	HOLD,
	heldCalls,
	leaveMail,
	mailOf,
	REFUSE,
	recorded,
	stateOf,
	steps,
} from "../support/window.ts";
import { digestOf } from "../support/workspace.ts";

const BROKEN = "not a verdict";
const alphaBeta = batch(named("alpha", "beta"));
const gamma: Call = { id: "t2", name: "gamma" };

verifies("tools-170", "a held batch is parked whole, and once it is passed all of it runs", async () => {
	const ws = await createBatchWorkspace([alphaBeta, gamma], { answers: { multi_tool: HOLD } });
	const { agent, code } = await ws.run();
	expect(code).toBe(10);
	expect(asked(consults(ws))).toEqual(["t1"]);
	const input = '{"invocations":[{"name":"alpha"},{"name":"beta"}]}';
	const digest = digestOf({ id: "t1", name: "multi_tool", input }, agent);
	expect(ws.mark(agent)).toMatchObject({ tool_use_id: "t1", tool: "multi_tool", kind: "hold", entry: "002", digest });
	expect(await heldCalls(ws)).toMatchObject([{ tool: "multi_tool", input: JSON.parse(input) } as Partial<Held>]);
	expect([recorded(ws, agent), ws.results(agent), ranTools(ws)]).toEqual([[], [], []]);
	answerCalls(ws, {});
	const next = await ws.advance(agent);
	expect(next, next.stderr).toMatchObject({ code: 0 });
	expect(ws.mark(agent)).toBeUndefined();
	expect(ranTools(ws)).toEqual(["alpha", "beta", "gamma"]);
	expect(recorded(ws, agent)).toEqual(["001/t1-1", "001/t1-2", "001/t2"]);
	expect(steps(ws, agent)).toBe(2);
});

verifies(
	"multi-tool-refused",
	"a refused batch is answered with the reason, and nothing in it is asked about",
	async () => {
		const ws = await createBatchWorkspace([alphaBeta, gamma], { answers: { multi_tool: REFUSE } });
		const { agent, code } = await ws.run();
		expect(code).toBe(0);
		expect(ws.results(agent)).toMatchObject([
			{ id: "t1", isError: true, text: expect.stringContaining("not on my watch") },
			{ id: "t2", isError: false },
		]);
		expect(asked(consults(ws))).toEqual(["t1", "t2"]);
		expect(ranTools(ws)).toEqual(["gamma"]);
	},
);

for (const execution of ["serial", "parallel"])
	verifies("tools-172", `a fault on the first entry parks the batch, ${execution}; then it runs once`, async () => {
		const first = batch(named("alpha", "beta"), { execution });
		const ws = await createBatchWorkspace([first, gamma], { answers: { "t1-1": BROKEN } });
		const { agent, code, stderr } = await ws.run();
		expect(code, stderr).toBe(14);
		expect(faulted(ws, agent)).toMatchObject({
			mark: {
				tool_use_id: "t1",
				tool: "multi_tool",
				kind: "fault",
				reason: expect.stringContaining('call of "alpha"'),
			},
			recorded: [],
			results: [],
		});
		expect(await stateOf(ws, agent)).toBe("held");
		// As long as it is broken it is asked again, and nothing else happens.
		const again = await ws.advance(agent);
		expect(again, again.stderr).toMatchObject({ code: 14 });
		expect([ranTools(ws), steps(ws, agent)]).toEqual([[], 1]);
		answerCalls(ws, {});
		const repaired = await ws.advance(agent);
		expect(repaired, repaired.stderr).toMatchObject({ code: 0 });
		expect([...ranTools(ws)].sort()).toEqual(["alpha", "beta", "gamma"]);
		expect(asked(consults(ws))).toEqual(["t1", "t1-1", "t1", "t1-1", "t1", "t1-1", "t1-2", "t2"]);
		expect(ws.results(agent)).toMatchObject([
			{ id: "t1", isError: false },
			{ id: "t2", isError: false },
		]);
		expect(ws.mark(agent)).toBeUndefined();
	});

verifies("tools-172", "entries that were declined have not started: a fault behind them parks the batch", async () => {
	const entries = batch(named("alpha", "nobody", "beta", "gamma"), { on_failure: "run_all" });
	const ws = await createBatchWorkspace([entries], { answers: { alpha: REFUSE, beta: BROKEN } });
	const { agent, code } = await ws.run();
	expect(code).toBe(14);
	expect(faulted(ws, agent)).toMatchObject({ mark: { tool_use_id: "t1", kind: "fault" }, recorded: [], results: [] });
	answerCalls(ws, { alpha: HOLD });
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	const { sections } = sectionsOf(ws.results(agent)[0]?.text ?? "");
	expect(sections.map(({ status }) => status)).toEqual(["declined", "declined", "ok", "ok"]);
	expect(ranTools(ws)).toEqual(["beta", "gamma"]);
});

verifies("tools-172", "a fault behind an entry that ran: that one is answered, the rest is left out", async () => {
	const entries = batch(named("alpha", "beta", "gamma"), { on_failure: "run_all" });
	const later = [gamma, batch(named("alpha"), { id: "t3" })];
	const ws = await createBatchWorkspace([entries, ...later], {
		answers: { "t1-2": BROKEN },
		tools: { alpha: "echo made > made.txt", beta: "", gamma: "" },
	});
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 14 });
	const { agent } = ran;
	expect(ran.stderr).toContain('call of "beta"');
	// Nothing of it is asked about again, so nobody is told that it will be.
	expect(ran.stderr).toContain("goes on behind the calls it left out");
	expect(ws.mark(agent)).toBeUndefined();
	expect(ranTools(ws)).toEqual(["alpha"]);
	expect(asked(consults(ws))).toEqual(["t1", "t1-1", "t1-2"]);
	const [first, ...rest] = ws.results(agent);
	const { tally, sections } = sectionsOf(first?.text ?? "");
	expect(tally).toBe("3 invocations: 1 ok, 1 failed, 1 skipped");
	expect(sections).toEqual([
		{ name: "alpha", status: "ok", text: "Exit code: 0\n" },
		{ name: "beta", status: "declined", text: "the tool control could not answer; not run" },
		{ name: "gamma", status: "skipped", text: "the tool control could not answer; not run" },
	]);
	expect(first?.isError).toBe(true);
	for (const result of rest)
		expect(result).toMatchObject({ isError: true, text: expect.stringContaining("not started") });
	expect(rest.map(({ id }) => id)).toEqual(["t2", "t3"]);
	expect(ws.trailers(agent, "Lernie-Verdict")).toEqual(["not-started", "not-started", "pass"]);
	expect(ws.git("show", `agents/${agent}~2:made.txt`)).toBe("made\n");
	expect(await stateOf(ws, agent)).toBe("failed");
	expect(await heldCalls(ws)).toEqual([]);

	answerCalls(ws, {});
	const next = await ws.advance(agent);
	expect(next, next.stderr).toMatchObject({ code: 0 });
	expect(files(ws, agent).slice(-2)).toEqual(["005-tool.json", "006-model-a.json"]);
	expect(ranTools(ws)).toEqual(["alpha"]);
	expect(await stateOf(ws, agent)).toBe("done");
});

verifies("tools-172", "an entry that could not be started is on record: a fault behind it does not park", async () => {
	const place = createPlace();
	place.write("home/tools/alpha.json", '{"type":"object"}');
	place.write("home/tools/lernie-tool-alpha", "#!/bin/sh\n");
	const ws = await createBatchWorkspace([batch(named("alpha", "beta"), { on_failure: "run_all" })], {
		place,
		answers: { beta: BROKEN },
		tools: { beta: "" },
		granted: ["alpha"],
	});
	const { agent, code, stderr } = await ws.run();
	expect(code, stderr).toBe(14);
	expect(ws.mark(agent)).toBeUndefined();
	const { sections } = sectionsOf(ws.results(agent)[0]?.text ?? "");
	expect(sections.map(({ status }) => status)).toEqual(["failed", "declined"]);
	expect(sections[0]?.text).toContain("could not be started");
	answerCalls(ws, {});
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
});

verifies("tools-172", "mail that lay there wakes nobody behind a fault; the next drive delivers it", async () => {
	const ws = await createBatchWorkspace([alphaBeta], { answers: { t1: HOLD } });
	const { agent } = await ws.run();
	leaveMail(ws, agent, "hello");
	answerCalls(ws, { beta: BROKEN });
	expect(await ws.advance(agent)).toMatchObject({ code: 14 });
	expect(mailOf(ws, agent)).toEqual(["user-001.md"]);
	expect([await stateOf(ws, agent), steps(ws, agent)]).toEqual(["failed", 1]);
	answerCalls(ws, {});
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(files(ws, agent).slice(2)).toEqual(["003-tool.json", "004-user.md", "005-model-a.json"]);
	expect(ranTools(ws)).toEqual(["alpha"]);
});

verifies("multi-tool-fault-resumed", "a batch that was held and passed is parked again by a fault in it", async () => {
	const ws = await createBatchWorkspace([alphaBeta], { answers: { t1: HOLD } });
	const { agent } = await ws.run();
	const { since, ...held } = ws.mark(agent) ?? {};
	answerCalls(ws, { "t1-1": BROKEN });
	expect(await ws.advance(agent)).toMatchObject({ code: 14 });
	expect(ws.mark(agent)).toMatchObject({
		...held,
		kind: "fault",
		reason: expect.stringMatching(/^control fault: .*call of "alpha"/),
	});
	expect(since).toBeDefined();
	answerCalls(ws, { "t1-2": BROKEN });
	expect(await ws.advance(agent)).toMatchObject({ code: 14 });
	expect(ws.mark(agent)).toBeUndefined();
	expect(sectionsOf(ws.results(agent)[0]?.text ?? "").tally).toBe("2 invocations: 1 ok, 1 failed, 0 skipped");
	expect(ranTools(ws)).toEqual(["alpha"]);
});

verifies("multi-tool-ungranted", "an entry outside the toolset is declined as a call of its own would be", async () => {
	const entries: readonly Invocation[] = named("alpha", "gamma", "beta");
	const ws = await createBatchWorkspace([batch(entries, { on_failure: "run_all" })], {
		tools: { alpha: "", beta: "" },
	});
	noteTool(ws, "gamma");
	const { agent } = await ws.run();
	const { sections } = sectionsOf(ws.results(agent)[0]?.text ?? "");
	expect(sections.map(({ status }) => status)).toEqual(["ok", "declined", "ok"]);
	expect(sections[1]?.text).toBe(
		'The tool "gamma" is not callable by a worker; the call did not run. The worker toolset is alpha, beta, multi_tool.',
	);
	expect(asked(consults(ws))).toEqual(["t1", "t1-1", "t1-3"]);
	expect(ranTools(ws)).toEqual(["alpha", "beta"]);
});

verifies("multi-tool-intercepted", "no program of that name is ever asked to answer a batch", async () => {
	const place = createPlace();
	noteTool(place, "multi_tool");
	place.script("bin/lernie-tool-multi_tool", `#!/bin/sh\necho path >> ${place.path("notes.log")}\n`);
	const ws = await createBatchWorkspace([batch([...named("alpha"), ...named("multi_tool")])], { place });
	const PATH = `${ws.path("bin")}:${ws.env.PATH}`;
	const { agent, code } = await ws.run("go", { env: { PATH } });
	expect(code).toBe(0);
	expect(ranTools(ws)).toEqual(["alpha"]);
	expect(sectionsOf(ws.results(agent)[0]?.text ?? "").sections.map(({ status }) => status)).toEqual(["ok", "declined"]);
	expect(verdictsOf(ws, agent)[0]?.program).toBe("builtin:multi_tool");
});

verifies("multi-tool-sibling", "a call held behind a batch is resumed alone: the batch is not run again", async () => {
	const ws = await createBatchWorkspace([alphaBeta, gamma, batch(named("alpha"), { id: "t3" })], {
		answers: { gamma: HOLD },
	});
	const { agent, code } = await ws.run();
	expect(code).toBe(10);
	expect(ws.mark(agent)).toMatchObject({ tool_use_id: "t2" });
	expect(ws.results(agent).map(({ id }) => id)).toEqual(["t1"]);
	answerCalls(ws, {});
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ws.results(agent).map(({ id }) => id)).toEqual(["t1", "t2", "t3"]);
	expect(asked(consults(ws))).toEqual(["t1", "t1-1", "t1-2", "t2", "t2", "t3", "t3-1"]);
	expect(ranTools(ws)).toEqual(["alpha", "beta", "gamma", "alpha"]);
	expect(recorded(ws, agent)).toEqual(["001/t1-1", "001/t1-2", "001/t2", "001/t3-1"]);
});

verifies("multi-tool-events", "who watches sees every call of a batch, its ruling and how it went", async () => {
	const entries = batch(named("alpha", "held", "multi_tool", "bad", "beta"), { on_failure: "run_all" });
	const ws = await createBatchWorkspace([entries], {
		answers: { held: HOLD, beta: REFUSE },
		tools: { alpha: "echo 12345", held: "", bad: "exit 3", beta: "" },
	});
	const ran = await ws.run("go", { flags: ["--json"] });
	const about = jsonLines(ran.stdout).filter(({ type }) => ["call", "verdict", "result"].includes(String(type)));
	expect(about.map(({ type, id, verdict, exit_code }) => [type, id, verdict ?? exit_code])).toEqual([
		["call", "t1", undefined],
		["verdict", "t1", "pass"],
		["call", "t1-1", undefined],
		["verdict", "t1-1", "pass"],
		["result", "t1-1", 0],
		["call", "t1-2", undefined],
		["verdict", "t1-2", "hold"],
		["result", "t1-2", null],
		["call", "t1-3", undefined],
		["verdict", "t1-3", "ungranted"],
		["result", "t1-3", null],
		["call", "t1-4", undefined],
		["verdict", "t1-4", "pass"],
		["result", "t1-4", 3],
		["call", "t1-5", undefined],
		["verdict", "t1-5", "refuse"],
		["result", "t1-5", null],
		["result", "t1", null],
	]);
	expect(about.at(-1)).toMatchObject({ is_error: true, bytes: 6 });
});
