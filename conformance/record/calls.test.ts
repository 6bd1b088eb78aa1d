import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { answerWith, PASS, tableControl } from "../support/controls.ts";
import { createPlace, type Place } from "../support/place.ts";
import { bash, jsonLines, runCalls, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { digestOf } from "../support/workspace.ts";

const hashed = (id: string): string => `~${createHash("sha256").update(id).digest("hex").slice(0, 32)}`;
const document = (place: Place, path: string): Record<string, unknown> =>
	JSON.parse(place.read(path)) as Record<string, unknown>;
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

verifies("tools-131", "bytes that are not UTF-8 are replaced in the record and in the transcript", async () => {
	const { agent, results, ws } = await runCalls([{ ...bash("printf 'a\\377\\376b'; printf '\\200' >&2"), id: "t1" }]);
	const output = document(ws, stepFile(agent, "001", "tools/t1/output.json"));
	expect(output).toMatchObject({ stdout: "a\uFFFD\uFFFDb", stderr: "\uFFFD" });
	expect(results[0]?.text).toBe("Exit code: 0\na\uFFFD\uFFFDb\n--- stderr ---\n\uFFFD");
});

const unsafe = ["../../x", ".", "..", "a/b", "/abs", "x".repeat(300), "with blank"];

verifies(
	["tools-133", "tools-134"],
	"an id that is no safe name has its record under a hash, inside tools/, and is verbatim everywhere else",
	async () => {
		const calls = unsafe.map((id, at) => ({ ...bash(`echo ${at}`), id }));
		const { ran, agent, results, ws } = await runCalls(calls);
		expect(ran.code).toBe(0);
		expect(results.map(({ id, text }) => [id, text])).toEqual(unsafe.map((id, at) => [id, `Exit code: 0\n${at}\n`]));
		const tools = stepFile(agent, "001", "tools");
		expect(readdirSync(ws.path(tools)).sort()).toEqual(unsafe.map(hashed).sort());
		for (const id of unsafe) expect(document(ws, `${tools}/${hashed(id)}/input.json`)).toMatchObject({ id });
		expect(readdirSync(ws.path(stepFile(agent, "001"))).sort()).toEqual(
			["meta.json", "request.json", "response.json", "stderr.log", "tools"].sort(),
		);
	},
);

verifies("tools-135", "an id that is a safe name is the name", async () => {
	const { agent, ws } = await runCalls([
		{ ...bash("true"), id: "toolu_01AbC" },
		{ ...bash("true"), id: "a.b:c-d" },
	]);
	expect(readdirSync(ws.path(stepFile(agent, "001", "tools"))).sort()).toEqual(["a.b:c-d", "toolu_01AbC"]);
});

verifies("tools-137", "what did not start has no record: declined, refused, unusable, held", async () => {
	const place = createPlace();
	const refuse = '{"verdict":"refuse","reason":"no"}';
	const control = tableControl(place, { r: refuse, h: '{"verdict":"hold","reason":"wait"}' });
	const calls = [
		{ name: "frob", id: "u" },
		{ ...bash("true"), id: "r" },
		{ name: "bash", id: "a", input_json: "[1]" },
		{ ...bash("true"), id: "h" },
	];
	const { ran, agent, ws } = await runCalls(calls, { place, control });
	expect(ran.code).toBe(10);
	expect(place.exists(stepFile(agent, "001", "tools"))).toBe(false);
	answerWith(place, { h: PASS });
	expect((await ws.advance(agent)).code).toBe(0);
	expect(readdirSync(place.path(stepFile(agent, "001", "tools")))).toEqual(["h"]);
});

verifies("contract-call-files", "the three files of a call have their forms", async () => {
	const input = '{"command":"echo out; echo err >&2; exit 3","n":1.0}';
	const place = createPlace();
	place.tool("loud", "#!/bin/sh\necho out; echo err >&2; exit 3\n");
	const call = { name: "loud", id: "t1", input_json: input };
	const { agent, ws } = await runCalls([call, { ...call, id: "t2" }], { place, tools: ["loud"] });
	const tools = stepFile(agent, "001", "tools");
	expect(ws.read(`${tools}/t1/input.json`)).toBe(`{\n  "id": "t1",\n  "name": "loud",\n  "input": ${input}\n}\n`);
	const started = document(ws, `${tools}/t1/process.json`);
	expect(Object.keys(started)).toEqual(["pgid", "start_time", "boot_id"]);
	expect(started).toMatchObject({ pgid: expect.any(Number), start_time: expect.stringMatching(/^\d+$/) });
	const output = document(ws, `${tools}/t1/output.json`);
	expect(Object.keys(output)).toEqual(["stdout", "stderr", "exit_code", "started_at", "ended_at"]);
	expect(output).toMatchObject({ stdout: "out\n", stderr: "err\n", exit_code: 3 });
	for (const at of [output.started_at, output.ended_at]) expect(at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
	expect(readdirSync(ws.path(`${tools}/t1`)).sort()).toEqual(["input.json", "output.json", "process.json"]);
});

verifies("contract-large-stream", "a stream over 8 MiB lies whole in a file beside the record", async () => {
	const { agent, results, ws } = await runCalls([
		{ ...bash("head -c 8388609 /dev/zero | tr '\\0' x; echo small >&2"), id: "out" },
		{ ...bash("head -c 8388608 /dev/zero | tr '\\0' y >&2"), id: "err" },
	]);
	const tools = ws.path(stepFile(agent, "001", "tools"));
	const out = document(ws, stepFile(agent, "001", "tools/out/output.json"));
	expect(out).toMatchObject({ stdout_file: "stdout", stderr: "small\n" });
	expect(out).not.toHaveProperty("stderr_file");
	expect(statSync(join(tools, "out/stdout")).size).toBe(8_388_609);
	expect(statSync(join(tools, "out/output.json")).size).toBeLessThan(100_000);
	const err = document(ws, stepFile(agent, "001", "tools/err/output.json"));
	expect(err.stderr).toHaveLength(8_388_608);
	expect(err).not.toHaveProperty("stderr_file");
	expect(results[0]?.text).toContain("stdout truncated: 8388609 bytes / 1 lines total");
});

verifies("contract-verdicts-file", "every consult is a line of verdicts.jsonl", async () => {
	const place = createPlace();
	const control = tableControl(place, { b: '{"verdict":"refuse","reason":"not now"}', c: "nonsense" });
	const { ran, agent, ws } = await runCalls(
		["a", "b", "c"].map((id) => ({ name: "cd", id, input: { path: "." } })),
		{ place, control },
	);
	expect(ran.code).toBe(14);
	const lines = jsonLines(ws.read(stepFile(agent, "001", "verdicts.jsonl")));
	expect(lines.map((line) => Object.keys(line).join())).toEqual(
		Array.from({ length: 3 }, () => "at,id,digest,verdict,reason,ms,fault,program,sha256,confined"),
	);
	const common = { program: "builtin:cd", sha256: null, confined: false };
	expect(lines).toMatchObject([
		{ ...common, id: "a", verdict: "pass", reason: null, fault: false },
		{ ...common, id: "b", verdict: "refuse", reason: "not now", fault: false },
		{ ...common, id: "c", verdict: "fault", fault: true },
	]);
	const input = '{"path":"."}';
	expect(lines.map(({ digest }) => digest)).toEqual(
		["a", "b", "c"].map((id) => digestOf({ id, name: "cd", input }, agent)),
	);
});

verifies(
	"contract-request-file",
	"a request up to 1 MiB is kept whole, a larger one as commit, digest and size",
	async () => {
		const after = [{ tools: [{ name: "bash", input: { command: `: ${"x".repeat(1_100_000)}` } }] }, { say: "done" }];
		const { agent, ws } = await runCalls([bash("true")], { after });
		const [first, second, third] = ["001", "002", "003"].map((step) => ws.read(stepFile(agent, step, "request.json")));
		expect(JSON.parse(first ?? "")).toMatchObject({ model: "model-a", max_tokens: 4096, messages: [{ role: "user" }] });
		expect(JSON.parse(second ?? "")).toHaveProperty("messages");
		const large = JSON.parse(third ?? "") as { commit: string; sha256: string; bytes: number };
		expect(Object.keys(large)).toEqual(["commit", "sha256", "bytes"]);
		expect(large.bytes).toBeGreaterThan(1024 * 1024);
		expect(large.commit).toBe(document(ws, stepFile(agent, "003", "meta.json")).commit);
		expect(large.sha256).toMatch(/^[0-9a-f]{64}$/);
	},
);

verifies(
	"contract-step-files",
	"meta.json names the commit a step was made from, and when it began and ended",
	async () => {
		const { agent, ws } = await runCalls([bash("true")]);
		const commits = ws.git("log", "--reverse", "--format=%H", `agents/${agent}`).trim().split("\n");
		const metas = ["001", "002"].map((step) => document(ws, stepFile(agent, step, "meta.json")));
		// config, founding, message, model, result, model
		expect(metas.map(({ commit }) => commit)).toEqual([commits[2], commits[4]]);
		for (const meta of metas) expect(Object.keys(meta)).toEqual(["commit", "started_at", "ended_at"]);
		expect(ws.read(stepFile(agent, "001", "stderr.log"))).toBe("");
	},
);

verifies(
	"contract-program-digest",
	"the control is told the program and its digest, and what changes after it is not started",
	async () => {
		const place = createPlace();
		const body = `#!/bin/sh\ntouch ${place.path("ran")}\n`;
		const tool = place.tool("probe", body);
		const log = `printf '%s %s\\n' "$LERNIE_TOOL_PROGRAM" "$LERNIE_TOOL_SHA256" >> ${place.path("programs")}`;
		const control = place.script(
			"control",
			`#!/bin/sh\ncat > request\n${log}\nif grep -q '"change":1' request; then echo : >> ${tool}; fi\nprintf '%s' '${PASS}'\n`,
		);
		const calls = [
			{ name: "probe", id: "c", input: { change: 1 } },
			{ name: "cd", id: "b", input: { path: "." } },
		];
		const { ran, agent, results } = await runCalls(calls, { place, control, tools: ["probe", "cd"] });
		expect(ran.code).toBe(0);
		expect(place.read("programs")).toBe(`${tool} ${sha256(body)}\nbuiltin:cd \n`);
		expect(results[0]).toMatchObject({ isError: true, text: expect.stringContaining("changed after it was judged") });
		expect(place.exists("ran")).toBe(false);
		expect(jsonLines(place.read(stepFile(agent, "001", "verdicts.jsonl")))[0]).toMatchObject({
			program: tool,
			sha256: sha256(body),
		});
	},
);
