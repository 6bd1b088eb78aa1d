import { expect } from "vitest";
import {
	asked,
	batch,
	createBatchWorkspace,
	type Invocation,
	named,
	notes,
	ranTools,
	sectionsOf,
	verdictsOf,
} from "../support/batch.ts";
import { consults } from "../support/controls.ts";
import { bash } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { files, HOLD, REFUSE, recorded } from "../support/window.ts";
import { digestOf, type Workspace } from "../support/workspace.ts";

const CAT = { alpha: `printf '%s' "$input"`, beta: `printf '%s' "$input"`, gamma: "" };
const BAD = { alpha: "", bad: "echo broken >&2; exit 3", gamma: "" };

/** The one result of an agent's one batch. */
const answerOf = (ws: Workspace, agent: string) => {
	const [result, ...more] = ws.results(agent);
	if (result === undefined || more.length > 0) throw new Error(`${more.length} results besides ${result?.id}`);
	return { ...result, ...sectionsOf(result.text) };
};

const statuses = ({ sections }: ReturnType<typeof answerOf>): readonly string[] =>
	sections.map(({ name, status }) => `${name} ${status}`);

verifies(["tools-159", "tools-184"], "each entry has an id, a record and a section of its own", async () => {
	const ws = await createBatchWorkspace([batch([{ name: "alpha", input: { x: 1 } }, { name: "beta" }])], {
		tools: CAT,
	});
	const { code, agent, stderr } = await ws.run();
	expect(code, stderr).toBe(0);
	expect(answerOf(ws, agent)).toMatchObject({
		text:
			"2 invocations: 2 ok, 0 failed, 0 skipped\n" +
			'\n=== [1/2] alpha: ok ===\nExit code: 0\n{"x":1}\n' +
			"\n=== [2/2] beta: ok ===\nExit code: 0\n{}\n",
		isError: false,
	});
	expect(files(ws, agent)).toEqual(["001-user.md", "002-model-a.json", "003-tool.json", "004-model-a.json"]);
	expect(notes(ws)).toEqual(['alpha {"x":1}', "beta {}"]);
	expect(recorded(ws, agent)).toEqual(["001/t1-1", "001/t1-2"]);
	const input = JSON.parse(ws.read(`ws/steps/${agent}/001/tools/t1-2/input.json`));
	expect(input).toEqual({ id: "t1-2", name: "beta", input: {} });
});

verifies("multi-tool-asked", "the whole and each entry are one consult each, over their own bytes", async () => {
	const ws = await createBatchWorkspace([batch([{ name: "alpha", input: { x: 1 } }, { name: "beta" }])]);
	const { agent } = await ws.run();
	const outer = '{"invocations":[{"name":"alpha","input":{"x":1}},{"name":"beta"}]}';
	const calls = [
		{ id: "t1", name: "multi_tool", input: outer },
		{ id: "t1-1", name: "alpha", input: '{"x":1}' },
		{ id: "t1-2", name: "beta", input: "{}" },
	];
	const requests = calls.map(
		({ id, name, input }) => `{"id":"${id}","name":"${name}","input":${input},"role":"worker","agent_id":"${agent}"}`,
	);
	expect(consults(ws)).toEqual(requests);
	expect(verdictsOf(ws, agent)).toMatchObject(
		calls.map((call) => ({ id: call.id, digest: digestOf(call, agent), verdict: "pass" })),
	);
	expect(verdictsOf(ws, agent).map(({ program }) => program)).toEqual([
		"builtin:multi_tool",
		ws.path("home/tools/lernie-tool-alpha"),
		ws.path("home/tools/lernie-tool-beta"),
	]);
	// What the commit says is about the call the model made.
	expect(ws.trailers(agent, "Lernie-Call")).toEqual(["t1"]);
	expect(ws.trailers(agent, "Lernie-Verdict")).toEqual(["pass"]);
	expect(ws.trailers(agent, "Lernie-Digest")).toEqual([verdictsOf(ws, agent)[0]?.digest]);
});

verifies(
	"multi-tool-bytes",
	"an entry's input reaches control, tool and record with the bytes it was sent with",
	async () => {
		const inner = '{"n":9007199254740993,"f":1.0,"z":1,"a":2,"1":0,"e":1E400,"s":"a  \\u0062"}';
		const spaced = inner.replaceAll(",", " ,\n ").replace("{", "{ ");
		const text = `{ "invocations" : [ { "input" : ${spaced} , "name" : "alpha" } , {"name":"beta","input": "a string" } ] }`;
		const ws = await createBatchWorkspace([{ id: "t1", name: "multi_tool", input_json: text }], { tools: CAT });
		const { agent } = await ws.run();
		expect(notes(ws)).toEqual([`alpha ${inner}`, 'beta "a string"']);
		expect(consults(ws)[1]).toBe(`{"id":"t1-1","name":"alpha","input":${inner},"role":"worker","agent_id":"${agent}"}`);
		expect(verdictsOf(ws, agent)[1]?.digest).toBe(digestOf({ id: "t1-1", name: "alpha", input: inner }, agent));
		expect(ws.read(`ws/steps/${agent}/001/tools/t1-1/input.json`)).toContain(`"input": ${inner}\n`);
		expect(answerOf(ws, agent).sections[0]?.text).toBe(`Exit code: 0\n${inner}`);
	},
);

verifies("tools-160", "an empty batch is answered with a line, and is no error", async () => {
	const ws = await createBatchWorkspace([batch([])]);
	const { agent } = await ws.run();
	expect(answerOf(ws, agent)).toMatchObject({ text: "0 invocations: 0 ok, 0 failed, 0 skipped\n", isError: false });
});

verifies("tools-161", "after an entry that failed the rest is skipped", async () => {
	const ws = await createBatchWorkspace([batch(named("alpha", "bad", "gamma"))], { tools: BAD });
	const { agent, code } = await ws.run();
	expect(code).toBe(0);
	const answer = answerOf(ws, agent);
	expect(answer).toMatchObject({ tally: "3 invocations: 1 ok, 1 failed, 1 skipped", isError: true });
	expect(statuses(answer)).toEqual(["alpha ok", "bad failed", "gamma skipped"]);
	expect(answer.sections[1]?.text).toBe("Exit code: 3\n--- stderr ---\nbroken\n");
	expect(answer.sections[2]?.text).toContain('on_failure "abort" ended the envelope after [2/3] failed');
	expect(ranTools(ws)).toEqual(["alpha", "bad"]);
	expect(asked(consults(ws))).toEqual(["t1", "t1-1", "t1-2"]);
	expect(recorded(ws, agent)).toEqual(["001/t1-1", "001/t1-2"]);
});

verifies("tools-162", "with run_all the rest runs all the same", async () => {
	const ws = await createBatchWorkspace([batch(named("alpha", "bad", "gamma"), { on_failure: "run_all" })], {
		tools: BAD,
	});
	const { agent } = await ws.run();
	const answer = answerOf(ws, agent);
	expect(answer).toMatchObject({ tally: "3 invocations: 2 ok, 1 failed, 0 skipped", isError: true });
	expect(statuses(answer)).toEqual(["alpha ok", "bad failed", "gamma ok"]);
	expect(ranTools(ws)).toEqual(["alpha", "bad", "gamma"]);
});

for (const [what, answers, fragment] of [
	["refused", { alpha: REFUSE }, "not on my watch"],
	["held", { alpha: HOLD }, "cannot park mid-envelope"],
] as const)
	verifies("tools-163", `after an entry that was ${what} the rest is skipped`, async () => {
		const ws = await createBatchWorkspace([batch(named("alpha", "beta", "gamma"))], { answers });
		const { agent, code } = await ws.run();
		expect(code).toBe(0);
		const answer = answerOf(ws, agent);
		expect(answer).toMatchObject({ tally: "3 invocations: 0 ok, 1 failed, 2 skipped", isError: true });
		expect(answer.sections[0]?.text).toContain(fragment);
		for (const { text } of answer.sections.slice(1)) expect(text).toContain("after [1/3] failed");
		expect(ranTools(ws)).toEqual([]);
		expect(asked(consults(ws))).toEqual(["t1", "t1-1"]);
	});

verifies("tools-165", "a batch in a batch is declined without a consult", async () => {
	const nested: Invocation = { name: "multi_tool", input: { invocations: named("alpha") } };
	const ws = await createBatchWorkspace([batch([nested, ...named("beta")], { on_failure: "run_all" })]);
	const { agent } = await ws.run();
	const answer = answerOf(ws, agent);
	expect(statuses(answer)).toEqual(["multi_tool declined", "beta ok"]);
	expect(answer.sections[0]?.text).toContain("may not contain itself (depth 1)");
	expect(asked(consults(ws))).toEqual(["t1", "t1-2"]);
	expect(ranTools(ws)).toEqual(["beta"]);
});

verifies("tools-166", "nothing of a malformed batch runs", async () => {
	const inputs = [
		{ invocations: "x" },
		{ invocations: named("alpha"), also: 1 },
		{ invocations: named("alpha"), execution: "both" },
		{ invocations: named("alpha"), on_failure: "retry" },
		{ invocations: [{ name: "alpha" }, { input: {} }] },
		{ invocations: [{ name: "alpha", id: "x" }] },
		{ invocations: Array.from({ length: 101 }, () => ({ name: "alpha" })) },
		{},
	];
	const [first, ...rest] = inputs.map((input) => ({ id: "t1", name: "multi_tool", input }));
	const after = [...rest.map((call) => ({ tools: [call] })), { say: "done" }];
	const ws = await createBatchWorkspace(first === undefined ? [] : [first], { after });
	const { agent, code, stderr } = await ws.run();
	expect(code, stderr).toBe(0);
	const results = ws.results(agent);
	expect(results).toHaveLength(inputs.length);
	for (const { text, isError } of results) {
		expect(text).toMatch(/^multi_tool: malformed envelope/);
		expect(text).toContain('Expected {"invocations"');
		expect(isError).toBe(true);
	}
	expect([ranTools(ws), recorded(ws, agent)]).toEqual([[], []]);
	expect(asked(consults(ws))).toEqual(inputs.map(() => "t1"));
});

verifies(
	"tools-166",
	"a key that occurs twice in an entry: the arguments are not usable, and nobody is asked",
	async () => {
		const input_json = '{"invocations":[{"name":"alpha"},{"name":"beta","input":{"a":1,"a":2}}]}';
		const ws = await createBatchWorkspace([{ id: "t1", name: "multi_tool", input_json }]);
		const { agent } = await ws.run();
		expect(answerOf(ws, agent).text).toContain('the arguments are not usable: the key "a" occurs twice');
		expect([ranTools(ws), consults(ws), recorded(ws, agent)]).toEqual([[], [], []]);
	},
);

verifies("tools-167", "a role without multi_tool gets no batch", async () => {
	const ws = await createBatchWorkspace([batch(named("alpha"))]);
	ws.write("home/template/providers.yaml", "roles: {worker: {provider: scripted, model: m, tools: [alpha]}}\n");
	const dir = ws.path("other");
	await ws.lernie(["new", dir], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
	const ran = await ws.lernie(["-w", dir, "--json", "run", "go"], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
	expect(ran.code, ran.stderr).toBe(0);
	expect(ran.stdout).toMatch(/"verdict":"ungranted","reason":"The tool \\"multi_tool\\" is not callable by a worker/);
	expect([ranTools(ws), consults(ws)]).toEqual([[], []]);
});

verifies("tools-168", "an entry that is refused says why, and the others run", async () => {
	const ws = await createBatchWorkspace([batch(named("alpha", "beta", "gamma"), { on_failure: "run_all" })], {
		answers: { beta: REFUSE },
	});
	const { agent } = await ws.run();
	const answer = answerOf(ws, agent);
	expect(answer).toMatchObject({ tally: "3 invocations: 2 ok, 1 failed, 0 skipped", isError: true });
	expect(statuses(answer)).toEqual(["alpha ok", "beta declined", "gamma ok"]);
	expect(answer.sections[1]?.text).toContain("not on my watch");
	expect(ranTools(ws)).toEqual(["alpha", "gamma"]);
	expect(recorded(ws, agent)).toEqual(["001/t1-1", "001/t1-3"]);
});

verifies("tools-169", "an entry that is held is declined: nothing is parked, and the run goes on", async () => {
	const ws = await createBatchWorkspace([batch(named("alpha", "beta", "gamma"), { on_failure: "run_all" })], {
		answers: { beta: HOLD },
	});
	const { agent, code, stderr } = await ws.run();
	expect(code).toBe(0);
	const answer = answerOf(ws, agent);
	expect(statuses(answer)).toEqual(["alpha ok", "beta declined", "gamma ok"]);
	for (const part of ["cannot park mid-envelope", "re-issue this invocation", "ask first"])
		expect(answer.sections[1]?.text).toContain(part);
	expect(ws.mark(agent)).toBeUndefined();
	expect(ranTools(ws)).toEqual(["alpha", "gamma"]);
	expect(recorded(ws, agent)).toEqual(["001/t1-1", "001/t1-3"]);
	// Who watches is not left to think that the run waits for somebody.
	expect(stderr).toContain("declined, a batch does not wait: ask first");
});

verifies("tools-183", "an entry sees where an earlier one moved to, and what it wrote", async () => {
	const entries: readonly Invocation[] = [
		{ name: "bash", input: { command: "mkdir sub; echo 1 > sub/one" } },
		{ name: "cd", input: { path: "sub" } },
		{ name: "bash", input: { command: "pwd; cat one" } },
	];
	const ws = await createBatchWorkspace([batch(entries), { ...bash("pwd"), id: "t2" }], { granted: ["bash", "cd"] });
	const { agent } = await ws.run();
	const [first, second] = ws.results(agent);
	const sub = ws.path("ws/agents", agent, "sub");
	expect(sectionsOf(first?.text ?? "").sections[2]?.text).toBe(`Exit code: 0\n${sub}\n1\n`);
	expect(second?.text).toBe(`Exit code: 0\n${sub}\n`);
	// One commit has all of it.
	expect(ws.git("show", `agents/${agent}~2:sub/one`)).toBe("1\n");
	expect(() => ws.git("show", `agents/${agent}~3:sub/one`)).toThrow();
});
