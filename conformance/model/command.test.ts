import { expect } from "vitest";
import { answerWith, tableControl } from "../support/controls.ts";
import {
	answer,
	attemptsOf,
	begin,
	callTool,
	createSending,
	end,
	failure,
	finish,
	linesOf,
	SENDS,
	type Sent,
	say,
	sends,
	shellModel,
} from "../support/model.ts";
import { createPlace, until } from "../support/place.ts";
import { jsonLines, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { HOLD, heldCalls } from "../support/window.ts";
import type { Workspace } from "../support/workspace.ts";

const retry = { base_ms: 250, jitter: 0 };
const fast = { base_ms: 1, jitter: 0 };

const responseOf = (ws: Workspace, agent: string, step = "001"): string =>
	ws.read(stepFile(agent, step, "response.json"));

/** Entries of an agent, the newest as data. */
const newest = (ws: Workspace, agent: string): unknown => JSON.parse(ws.entries(agent).at(-1)?.text ?? "");

verifies(
	["tools-217", "model-command-request", "model-command-record"],
	"an overloaded model is asked again with the same bytes after 250 ms: two segments, one entry",
	async () => {
		const runs = [failure({ provider: { status: 529 } }), answer("done")];
		const ws = await createSending(runs, { workflow: { retry } });
		const ran = await ws.run("hi", { flags: ["--json"] });
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		const events = jsonLines(ran.stdout);
		expect(events.filter(({ type }) => type === "retry")).toMatchObject([{ attempt: 1, delay_ms: 250 }]);
		const agent = String(events[0]?.id);
		const [first, second, ...more] = attemptsOf(ws);
		expect(more).toEqual([]);
		expect(second?.stdin).toBe(first?.stdin);
		expect(`${first?.stdin}\n`).toBe(ws.read(stepFile(agent, "001", "request.json")));
		expect(responseOf(ws, agent)).toBe(runs.map(linesOf).join(""));
		expect(ws.entries(agent)).toHaveLength(2);
	},
);

verifies("model-command-request", "the program reads the whole canonical request and nothing else", async () => {
	const ws = await createSending([[begin, ...callTool("t1", "cd", { path: "." }), ...finish], answer("done")], {
		role: { provider: "own", model: "a/b", max_tokens: 7, temperature: 0.5, reasoning: { effort: "low" } },
		tools: ["cd"],
	});
	expect(await ws.run("say hi")).toMatchObject({ code: 0, stdout: "done\n" });
	const request = JSON.parse(attemptsOf(ws)[1]?.stdin ?? "") as Record<string, unknown>;
	expect(Object.keys(request)).toEqual(
		"model system messages tools tool_choice parallel_tool_calls max_tokens temperature top_p reasoning stop stream output".split(
			" ",
		),
	);
	expect(request).toMatchObject({
		model: "a/b",
		system: [{ type: "text", text: expect.stringContaining("say hi") }],
		messages: [
			{ role: "user", content: [{ type: "text", text: expect.stringContaining("say hi") }] },
			{ role: "assistant", content: [{ type: "tool_use", id: "t1", name: "cd", input: { path: "." } }] },
			{ role: "tool", content: [{ type: "tool_result", tool_use_id: "t1", is_error: false }] },
		],
		tools: [{ name: "cd", input_schema: expect.anything() }],
		tool_choice: { type: "auto" },
		parallel_tool_calls: null,
		max_tokens: 7,
		temperature: 0.5,
		top_p: null,
		reasoning: { effort: "low" },
		stop: null,
		stream: null,
		output: null,
	});
});

verifies("tools-218", "the hint of a model is waited for when it is longer", async () => {
	const runs = [
		failure({ provider: { status: 429 } }, { retry_after_seconds: 0 }),
		failure("transport", { retry_after_seconds: 7 }),
	];
	const ws = await createSending(runs, { workflow: { retry: { ...retry, base_ms: 5 } } });
	const started = ws.start(["-w", ws.dir, "--json", "run", "hi"]);
	const retries = () => jsonLines(started.output().stdout).filter(({ type }) => type === "retry");
	await until("two retries to be announced", () => retries().length === 2);
	started.process.kill("SIGKILL");
	await started.ended;
	expect(retries().map(({ delay_ms }) => delay_ms)).toEqual([5, 7000]);
	expect(attemptsOf(ws)).toHaveLength(2);
});

verifies("tools-219", "what another try cannot mend starts the program once, and the drive ends with 13", async () => {
	for (const [kind, workflow] of [
		[{ provider: { status: 400 } }, {}],
		["parse_input", {}],
		["transport", { retry: { max_attempts: 1 } }],
	] as const) {
		const ws = await createSending([failure(kind), answer("never")], { workflow });
		const ran = await ws.run();
		expect.soft(ran, ran.stderr).toMatchObject({ code: 13, stdout: "" });
		expect.soft(ran.stderr).toContain('model row "own"');
		expect.soft(ran.stderr).toContain("no luck");
		expect.soft([attemptsOf(ws).length, ws.entries(ran.agent).length]).toEqual([1, 1]);
	}
});

verifies(
	"tools-221",
	"a stream without its end is a failure that quotes the end of stderr and says where it lies",
	async () => {
		const ws = await createSending([[begin, ...say("half")]]);
		shellModel(ws, `${SENDS}\nprintf '%0500d\\nlast words\\n' 7 >&2; exit 9`);
		const ran = await ws.run();
		expect(ran).toMatchObject({ code: 13, stdout: expect.stringContaining("half") });
		expect(ran.stderr).toMatch(/broke off \(exit code 9\); its stderr: …0+7 \| last words \(\S+\/stderr\.log\)/);
		expect(ran.stderr).toContain(stepFile(ran.agent, "001", "stderr.log"));
		expect(ws.entries(ran.agent)).toHaveLength(1);
		sends(ws, [[begin, ...say("half")]]);
		shellModel(ws, SENDS);
		expect((await ws.advance(ran.agent)).stderr).toContain("broke off (exit code 0); its stderr: (empty) (");
	},
);

verifies("tools-222", "a malformed line is a failure, and every line is recorded as it came", async () => {
	const sent = [begin, '{"type" : "weather"}', "{nope", ...say("x"), ...finish];
	const ws = await createSending([sent]);
	const ran = await ws.run();
	expect(ran).toMatchObject({ code: 13, stderr: expect.stringContaining("{nope") });
	expect(responseOf(ws, ran.agent)).toBe(linesOf(sent));
	expect(ws.entries(ran.agent)).toHaveLength(1);
});

verifies(
	["tools-222", "tools-226"],
	"lines after the end and what a later protocol would send are recorded and mean nothing",
	async () => {
		const sent: readonly Sent[] = [
			begin,
			{ type: "weather", mood: 1 },
			{ type: "content_start", index: 3, kind: { aura: {} } },
			{ type: "content_delta", index: 3, delta: { text_delta: "x" } },
			...say("fine").slice(0, 2),
			{ type: "content_delta", index: 0, delta: { aura_delta: "x" }, further: true },
			{ type: "content_stop", index: 0 },
			{ type: "finish", reason: "vibes" },
			end,
			...say("late"),
			...failure("auth"),
			"{nope",
		];
		const ws = await createSending([sent]);
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "fine\n" });
		expect(newest(ws, ran.agent)).toEqual({ content: [{ type: "text", text: "fine" }] });
		expect(responseOf(ws, ran.agent)).toBe(linesOf(sent));
	},
);

verifies("tools-224", "a program of another version, or of none, is refused", async () => {
	const ws = await createSending([[{ ...begin, v: 2 }, ...say("x"), ...finish]]);
	const ran = await ws.run();
	expect(ran).toMatchObject({ code: 13, stderr: expect.stringContaining("version 2, not version 1") });
	sends(ws, [[...say("x"), ...finish]]);
	expect(await ws.advance(ran.agent)).toMatchObject({ code: 13, stderr: expect.stringContaining("no message_start") });
	expect(ws.entries(ran.agent)).toHaveLength(1);
	sends(ws, [answer("x")]);
	expect(await ws.advance(ran.agent)).toMatchObject({ code: 0 });
});

verifies("tools-228", "nothing of a failed attempt stays; of each counter the last report does", async () => {
	const usage = (counters: object): Sent => ({ type: "usage", ...counters });
	const broken = [
		begin,
		...say("half"),
		usage({ input_tokens: 99, output_tokens: 9 }),
		...failure("transport").slice(1),
	];
	const whole = [
		begin,
		usage({ input_tokens: 5, cache_read_tokens: 1 }),
		...say("whole"),
		usage({ input_tokens: null, output_tokens: 2 }),
		...finish,
	];
	const ws = await createSending([broken, whole], { workflow: { retry: fast } });
	const { agent, code } = await ws.run();
	expect([code, newest(ws, agent)]).toEqual([
		0,
		{
			content: [{ type: "text", text: "whole" }],
			usage: { input_tokens: 5, cache_read_tokens: 1, output_tokens: 2 },
		},
	]);
});

verifies("model-command-exit", "the exit code of a program whose answer is whole says nothing", async () => {
	const ws = await createSending([answer("done")]);
	shellModel(ws, `${SENDS}\nkill -SEGV $$`);
	expect(await ws.run()).toMatchObject({ code: 0, stdout: "done\n" });
});

verifies(
	"model-command-replay",
	"signatures, sealed reasoning and redacted blocks go back to the program as it sent them",
	async () => {
		const sealed = `${"A+/=".repeat(300)}é\u2028"\\`;
		const delta = (index: number, piece: object): Sent => ({ type: "content_delta", index, delta: piece });
		const sent = [
			begin,
			{ type: "content_start", index: 0, kind: { thinking: { id: "rs_1" } } },
			delta(0, { thinking_delta: "hm" }),
			delta(0, { signature_delta: sealed.slice(0, 7) }),
			delta(0, { signature_delta: sealed.slice(7) }),
			delta(0, { encrypted_reasoning_delta: sealed }),
			{ type: "content_start", index: 1, kind: { redacted_thinking: { data: sealed } } },
			{ type: "content_start", index: 2, kind: { tool_use: { id: "t1", name: "cd", signature: sealed } } },
			delta(2, { json_delta: '{"path":".","n":9007199254740993,' }),
			delta(2, { json_delta: '"f":1.0}' }),
			...finish,
		];
		const ws = await createSending([sent, answer("done")]);
		const { agent, code } = await ws.run();
		expect(code).toBe(0);
		const { stdin = "" } = attemptsOf(ws)[1] ?? {};
		const { messages } = JSON.parse(stdin) as { messages: { content: unknown }[] };
		expect(messages[1]?.content).toEqual([
			{ type: "thinking", text: "hm", signature: sealed, id: "rs_1", encrypted_content: sealed },
			{ type: "redacted_thinking", data: sealed },
			{ type: "tool_use", id: "t1", name: "cd", input: expect.anything(), signature: sealed },
		]);
		expect(stdin).toContain('"input":{"path":".","n":9007199254740993,"f":1.0}');
		expect(ws.entries(agent)[1]?.text).toContain('"n":9007199254740993,"f":1.0');
	},
);

verifies("model-command-loop", "a hold and its answer work with a program as with any other model", async () => {
	const place = createPlace();
	const sent = [begin, ...say("I look."), ...callTool("t1", "bash", { command: "echo out" }, 1), ...finish];
	const ws = await createSending([sent, answer("done")], { place, control: tableControl(place, { bash: HOLD }) });
	const { agent, code } = await ws.run();
	expect([code, (await heldCalls(ws)).length, attemptsOf(ws).length]).toEqual([10, 1, 1]);
	answerWith(place, {});
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ws.results(agent)).toMatchObject([{ text: "Exit code: 0\nout\n" }]);
	expect(newest(ws, agent)).toEqual({ content: [{ type: "text", text: "done" }] });
});
