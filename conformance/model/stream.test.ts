import { expect } from "vitest";
import { until } from "../support/place.ts";
import { jsonLines, scriptPast, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const begin = { type: "message_start", v: 1, role: "assistant", id: "m", model: "model-a" };
const say = (text: string) => [
	{ type: "content_start", index: 0, kind: { text: {} } },
	{ type: "content_delta", index: 0, delta: { text_delta: text } },
	{ type: "content_stop", index: 0 },
];
const finish = [{ type: "finish", reason: "stop" }, { type: "end" }];
const retry = { base_ms: 250, jitter: 0 };

/** A workspace whose model sends exactly these events at its first call. */
const sending = (events: readonly unknown[]): Promise<Workspace> =>
	createWorkspace({ script: scriptPast("end", [{ events }]) });

verifies(
	"tools-217",
	"an overloaded provider is asked again with the same request after 250 ms, and one entry comes of it",
	async () => {
		const calls = [{ attempts: [{ error: { status: 529 }, message: "overloaded" }], say: "done" }];
		const ws = await createWorkspace({ script: { calls }, workflow: { retry } });
		const ran = await ws.run("hi", { flags: ["--json"] });
		expect(ran.code).toBe(0);
		const events = jsonLines(ran.stdout);
		expect(events.filter(({ type }) => type === "retry")).toMatchObject([{ attempt: 1, delay_ms: 250 }]);
		const agent = String(events[0]?.id);
		const response = ws.read(stepFile(agent, "001", "response.json"));
		expect(response.match(/^\{"type":"end"\}$/gm)).toHaveLength(2);
		expect(ws.entries(agent)).toHaveLength(2);
	},
);

verifies("tools-218", "the provider's hint is waited for when it is longer", async () => {
	const attempts = [
		{ error: { status: 429 }, retry_after_seconds: 0 },
		{ error: { kind: "transport" }, retry_after_seconds: 7 },
	];
	const ws = await createWorkspace({
		script: { calls: [{ attempts, say: "done" }] },
		workflow: { retry: { ...retry, base_ms: 5 } },
	});
	const env = { LERNIE_SCRIPT: ws.path("script.yaml") };
	const started = ws.start(["-w", ws.dir, "--json", "run", "hi"], { env });
	const retries = () => jsonLines(started.output().stdout).filter(({ type }) => type === "retry");
	await until("two retries to be announced", () => retries().length === 2);
	started.process.kill("SIGKILL");
	await started.ended;
	expect(retries().map(({ delay_ms }) => delay_ms)).toEqual([5, 7000]);
});

verifies(
	"tools-219",
	"what another try cannot mend ends the drive with 13 at once, and so does the last attempt",
	async () => {
		for (const [error, workflow] of [
			[{ status: 400 }, {}],
			[{ kind: "auth" }, {}],
			[{ kind: "transport" }, { retry: { max_attempts: 1 } }],
		] as const) {
			const ws = await createWorkspace({ script: { calls: [{ attempts: [{ error }], say: "never" }] }, workflow });
			const ran = await ws.run();
			expect(ran, ran.stderr).toMatchObject({ code: 13, stdout: "" });
			expect(ran.stderr).toContain('model row "scripted"');
			expect(ws.entries(ran.agent)).toHaveLength(1);
		}
	},
);

verifies("contract-long-hint", "a hint over ten minutes is not waited for", async () => {
	const attempts = [{ error: { status: 429 }, retry_after_seconds: 601 }];
	const ws = await createWorkspace({ script: { calls: [{ attempts, say: "never" }] } });
	expect(await ws.run()).toMatchObject({ code: 13, stderr: expect.stringContaining("601 s") });
});

verifies("tools-222", "a malformed line ends the call with 13, and every line is recorded", async () => {
	const ws = await sending([begin, "{nope", ...say("x"), ...finish]);
	const ran = await ws.run();
	expect(ran).toMatchObject({ code: 13, stderr: expect.stringContaining("{nope") });
	expect(ws.entries(ran.agent)).toHaveLength(1);
	const lines = ws.read(stepFile(ran.agent, "001", "response.json")).split("\n");
	expect([lines[1], lines.length]).toEqual(["{nope", 8]);
});

verifies(
	["tools-222", "tools-226"],
	"lines after the end and events of a later protocol are recorded and mean nothing",
	async () => {
		const later = [
			{ type: "weather", mood: 1 },
			{ type: "content_start", index: 7, kind: { aura: {} } },
			{ type: "content_delta", index: 7, delta: { aura_delta: "x" } },
			{ type: "content_stop", index: 7 },
			{ type: "content_delta", index: 0, delta: { aura_delta: "x" } },
		];
		const events = [
			begin,
			later[0],
			later[1],
			...say("fine").slice(0, 1),
			later[4],
			...say("fine").slice(1),
			later[2],
			later[3],
		];
		const after = [...say("late"), { type: "error", kind: { provider: { status: 400 } }, message: "late" }, "{nope"];
		const ws = await sending([...events, { type: "finish", reason: "vibes", x: 1 }, { type: "end" }, ...after]);
		const ran = await ws.run();
		expect(ran).toMatchObject({ code: 0, stdout: "fine\n" });
		expect(JSON.parse(ws.entries(ran.agent)[1]?.text ?? "")).toEqual({ content: [{ type: "text", text: "fine" }] });
		const recorded = ws
			.read(stepFile(ran.agent, "001", "response.json"))
			.trimEnd()
			.split("\n");
		expect(recorded).toHaveLength(events.length + 2 + after.length);
	},
);

verifies("tools-224", "a stream of another version, or of none, is refused; version 1 is read", async () => {
	for (const [events, code] of [
		[[{ ...begin, v: 2 }, ...say("x"), ...finish], 13],
		[[...say("x"), ...finish], 13],
		[[begin, ...say("x"), ...finish], 0],
	] as const) {
		const ws = await sending(events);
		const ran = await ws.run();
		expect.soft(ran.code, ran.stderr).toBe(code);
		expect.soft(ws.entries(ran.agent)).toHaveLength(code === 0 ? 2 : 1);
	}
});

verifies("contract-half-stream", "a stream that breaks off ends the drive with 13 and leaves no entry", async () => {
	const ws = await sending([begin, ...say("half")]);
	const ran = await ws.run();
	expect(ran).toMatchObject({ code: 13, stderr: expect.stringContaining("broke off") });
	expect(ws.entries(ran.agent)).toHaveLength(1);
});

verifies("tools-228", "nothing of a failed call stays, and of a good one the last report of each counter", async () => {
	const usage = (counters: object) => ({ type: "usage", ...counters });
	const error = { type: "error", kind: { provider: { status: 400 } }, message: "no" };
	const ws = await sending([
		begin,
		...say("half"),
		usage({ input_tokens: 99, output_tokens: 9 }),
		error,
		{ type: "end" },
	]);
	const { agent, code } = await ws.run();
	expect([code, ws.entries(agent).length]).toEqual([13, 1]);
	const reports = [usage({ input_tokens: 5, cache_read_tokens: 1 }), usage({ input_tokens: null, output_tokens: 2 })];
	ws.setScript({ calls: [{ events: [begin, reports[0], ...say("whole"), reports[1], ...finish] }] });
	expect((await ws.advance(agent)).code).toBe(0);
	expect(JSON.parse(ws.entries(agent)[1]?.text ?? "")).toEqual({
		content: [{ type: "text", text: "whole" }],
		usage: { input_tokens: 5, cache_read_tokens: 1, output_tokens: 2 },
	});
});

verifies(
	"contract-replayed-blocks",
	"thinking, signatures and sealed blocks are kept and sent again as they came",
	async () => {
		const thinking = [
			{ type: "content_start", index: 0, kind: { thinking: { id: "rs_1" } } },
			{ type: "content_delta", index: 0, delta: { thinking_delta: "hm" } },
			{ type: "content_delta", index: 0, delta: { signature_delta: "si" } },
			{ type: "content_delta", index: 0, delta: { signature_delta: "g==" } },
			{ type: "content_delta", index: 0, delta: { encrypted_reasoning_delta: "enc" } },
			{ type: "content_stop", index: 0 },
			{ type: "content_start", index: 1, kind: { redacted_thinking: { data: "sealed" } } },
			{ type: "content_stop", index: 1 },
			{ type: "content_start", index: 2, kind: { tool_use: { id: "t1", name: "cd" } } },
			{ type: "content_delta", index: 2, delta: { json_delta: '{"path":"."}' } },
			{ type: "content_stop", index: 2 },
		];
		const ws = await sending([begin, ...thinking, ...finish]);
		const { agent, code } = await ws.run();
		expect(code).toBe(0);
		const blocks = [
			{ type: "thinking", text: "hm", signature: "sig==", id: "rs_1", encrypted_content: "enc" },
			{ type: "redacted_thinking", data: "sealed" },
			{ type: "tool_use", id: "t1", name: "cd", input: { path: "." } },
		];
		expect(JSON.parse(ws.entries(agent)[1]?.text ?? "")).toEqual({ content: blocks });
		const request = JSON.parse(ws.read(stepFile(agent, "002", "request.json"))) as { messages: { content: unknown }[] };
		expect(request.messages[1]?.content).toEqual(blocks);
	},
);

verifies("contract-refusal-answer", "a final answer that refuses is an answer", async () => {
	const ws = await createWorkspace({ script: { calls: [{ say: "I will not.", finish: "refusal" }] } });
	expect(await ws.run()).toMatchObject({ code: 0, stdout: "I will not.\n" });
});
