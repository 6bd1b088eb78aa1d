import { chmodSync, closeSync, existsSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "@lernie/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isDead, readStat } from "../process/identity.ts";
import type { CrashSite } from "../workspace/crash.ts";
import { createControl } from "./create.ts";
import {
	CALL,
	type ControlOptions,
	controlAt,
	createWorkspace,
	detailOf,
	QUESTION,
	writeControl,
} from "./fixtures/consult.ts";
import type { Adjudication, Control } from "./types.ts";

let workspace: string;
beforeAll(() => {
	workspace = createWorkspace();
});
afterAll(() => rmSync(workspace, { recursive: true }));

const at = (command: string, options: ControlOptions = {}): Control => controlAt(workspace, command, options);
const control = (script: string): Control => at(writeControl(workspace, script));
const asked = (script: string, options: ControlOptions = {}): Promise<Adjudication> =>
	at(writeControl(workspace, script), options).adjudicate(QUESTION);

const alive = (pid: number): boolean => {
	const stat = readStat(pid);
	return stat !== undefined && !isDead(stat);
};

/** Answers with these bytes and exits with 0. */
const saying = (bytes: string): string => `cat <<'END_OF_ANSWER'\n${bytes}\nEND_OF_ANSWER`;

describe("what a control may answer", () => {
	test.each([
		['{"verdict":"pass"}', { verdict: "pass" }],
		[' \n\t{ "verdict" : "pass" }\r\n\n', { verdict: "pass" }],
		['{"verdict":"pass","reason":null}', { verdict: "pass" }],
		['{"verdict":"refuse","reason":"no"}', { verdict: "refuse", reason: "no" }],
		['{"verdict":"refuse","reason":""}', { verdict: "refuse", reason: "" }],
		['{"reason":"two\\nlines","verdict":"hold"}', { verdict: "hold", reason: "two\nlines" }],
	])("%s", async (bytes, expected) => {
		expect(await asked(saying(bytes))).toEqual({ ...expected, ms: expect.any(Number) });
	});

	test.each([
		["a pass with a reason", '{"verdict":"pass","reason":"x"}'],
		["a refusal without a reason", '{"verdict":"refuse"}'],
		["a hold without a reason", '{"verdict":"hold"}'],
		["a hold whose reason is null", '{"verdict":"hold","reason":null}'],
		["another word", '{"verdict":"maybe"}'],
		["another case", '{"verdict":"Pass"}'],
		["no verdict", '{"reason":"x"}'],
		["a verdict that is no string", '{"verdict":true}'],
		["a reason that is no string", '{"verdict":"refuse","reason":5}'],
		["another key", '{"verdict":"pass","rewrite":{"command":"ls"}}'],
		["an id, which is for serve", '{"verdict":"pass","id":"t1"}'],
		["a repeated key", '{"verdict":"refuse","verdict":"pass","reason":"x"}'],
		["a key repeated in escapes", '{"verdict":"refuse","\\u0076erdict":"pass","reason":"x"}'],
		["nothing", ""],
		["no JSON", "not json"],
		["text after it", '{"verdict":"pass"} trailing'],
		["two documents", '{"verdict":"pass"}{"verdict":"pass"}'],
		["an array", '["pass"]'],
		["a string", '"pass"'],
		["null", "null"],
		["an unpaired surrogate", '{"verdict":"hold","reason":"\\ud800"}'],
		["a byte order mark", '\uFEFF{"verdict":"pass"}'],
		["a reason over 16 KiB", `{"verdict":"hold","reason":"${"x".repeat(16 * 1024 + 1)}"}`],
		["more than 64 KiB", `{"verdict":"pass"}${" ".repeat(64 * 1024)}`],
	])("%s is no verdict", async (_, bytes) => {
		expect(detailOf(await asked(saying(bytes)))).toContain("stdout is not a verdict (");
	});

	test("bytes that are no UTF-8 are no verdict", async () => {
		const answer = await asked(`printf '{"verdict":"hold","reason":"\\377"}'`);
		expect(detailOf(answer)).toContain("stdout is not a verdict (not UTF-8)");
	});

	test("a verdict on stderr is none", async () => {
		expect(detailOf(await asked(`echo '{"verdict":"pass"}' >&2`))).toContain("stdout is not a verdict (");
	});

	test("a pass after more than the limit is none, however it begins", async () => {
		const answer = await asked(`printf '{"verdict":"pass"}'; head -c 70000 /dev/zero | tr '\\0' ' '`);
		expect(detailOf(answer)).toContain("longer than 65536 bytes");
	});
});

describe("a control that cannot answer", () => {
	test("is a fault that names the command and the tool and says that the call was not run", async () => {
		const answer = await at("/nowhere/control").adjudicate(QUESTION);
		expect(detailOf(answer)).toMatch(
			/^control "\/nowhere\/control" could not judge the call of "bash", which was not run: spawn control "\/nowhere\/control": /,
		);
	});

	test("because it is not executable, or a directory, or a command line", async () => {
		const command = writeControl(workspace, "true");
		chmodSync(command, 0o644);
		for (const path of [command, workspace, `${command} --flag`])
			expect(detailOf(await at(path).adjudicate(QUESTION))).toContain(`spawn control ${JSON.stringify(path)}`);
	});

	test("because it exits with another code, whatever it printed", async () => {
		expect(detailOf(await asked(`echo '{"verdict":"pass"}'; exit 1`))).toContain("exited 1; stderr: ");
		expect(detailOf(await asked("echo ' guardian down ' >&2; exit 3"))).toMatch(/: exited 3; stderr: guardian down$/);
	});

	test("because a signal ended it", async () => {
		expect(detailOf(await asked(`echo '{"verdict":"pass"}'; kill -SEGV $$`))).toContain("terminated by signal 11");
	});

	test("because it took too long; nothing of it survives", async () => {
		const pids = join(workspace, "pids");
		const script = `trap '' TERM; echo '{"verdict":"pass"}'; sh -c 'trap "" TERM; while :; do sleep 0.05; done' & echo "$$ $!" > ${pids}; wait`;
		const answer = await asked(script, { timeoutSeconds: 1.5 });
		expect(detailOf(answer)).toContain("no answer within 1.5 s");
		expect(readFileSync(pids, "utf8").trim().split(" ").map(Number).map(alive)).toEqual([false, false]);
	});

	test("leaves nothing behind in the background", async () => {
		const pids = join(workspace, "left");
		await asked(`sleep 60 >/dev/null 2>&1 & echo $! > ${pids}; exit 9`);
		expect(alive(Number(readFileSync(pids, "utf8")))).toBe(false);
	});

	test("because of a stop, which ends it at once", async () => {
		const up = join(workspace, "up");
		const stop = new AbortController();
		const answer = asked(`touch ${up}; exec sleep 60`, { stop: stop.signal });
		while (!existsSync(up)) await new Promise((resolve) => setTimeout(resolve, 5));
		stop.abort();
		expect(detailOf(await answer)).toContain("terminated by signal 15");
	});

	test("because of a stop, though something in a session of its own holds its stdout", async () => {
		const pid = join(workspace, "holder");
		const stop = new AbortController();
		const answer = asked(`(setsid sh -c 'echo $$ > ${pid}; exec sleep 60' &); exec sleep 60`, { stop: stop.signal });
		while (!existsSync(pid) || readFileSync(pid, "utf8") === "") await new Promise((resolve) => setTimeout(resolve, 5));
		stop.abort();
		expect(detailOf(await answer)).toContain("terminated by signal 15");
		const holder = Number(readFileSync(pid, "utf8"));
		expect(alive(holder)).toBe(true);
		process.kill(holder, "SIGKILL");
	});

	test("after a stop is not started", async () => {
		const ran = join(workspace, "ran-after-stop");
		const answer = await asked(`touch ${ran}; echo '{"verdict":"pass"}'`, { stop: AbortSignal.abort() });
		expect(detailOf(answer)).toContain("stopped before it started");
		expect(existsSync(ran)).toBe(false);
	});
});

describe("the consult", () => {
	test("the request is the five keys, the input its own bytes, and then the end", async () => {
		await asked(`cat > request; ${saying('{"verdict":"pass"}')}`);
		const expected = '{"id":"t1","name":"bash","input":{"n":9007199254740993,"f":1.0},"role":"worker","agent_id":"a"}';
		expect(readFileSync(join(workspace, "request"), "utf8")).toBe(expected);
	});

	test("it runs in the workspace without arguments, in the closed environment", async () => {
		await asked(`echo "$#" > arguments; env > environment; ${saying('{"verdict":"pass"}')}`);
		expect(readFileSync(join(workspace, "arguments"), "utf8")).toBe("0\n");
		const lines = readFileSync(join(workspace, "environment"), "utf8").split("\n");
		expect(lines).toEqual(
			expect.arrayContaining([
				`LERNIE_CONV_REPO=${workspace}`,
				"LERNIE_CONV_BRANCH=a",
				"LERNIE_TOOL_PROGRAM=/bin/bash",
				"LERNIE_TOOL_SHA256=ab12",
				"EXTRA=e",
				`PWD=${workspace}`,
			]),
		);
		expect(lines.filter((line) => /^(OPENAI|TOOL_ENV|LERNIE_CONFINED|LERNIE_CALL)/.test(line))).toEqual([]);
	});

	test("a program without a file has no digest, and a confined call is said to be", async () => {
		const asking = control(`env > environment; ${saying('{"verdict":"pass"}')}`);
		await asking.adjudicate({ ...QUESTION, program: "builtin:cd", sha256: undefined, confined: true });
		const text = readFileSync(join(workspace, "environment"), "utf8");
		expect(text).toContain("LERNIE_TOOL_PROGRAM=builtin:cd\n");
		expect(text).toContain("LERNIE_CONFINED=1\n");
		expect(text).not.toContain("LERNIE_TOOL_SHA256");
	});

	test("a large request need not be read, and a large stderr blocks nobody", async () => {
		const large = { ...QUESTION, call: { ...CALL, input: JSON.stringify({ x: "y".repeat(1024 * 1024) }) } };
		const passing = control(`exec 0<&-; head -c 1000000 /dev/zero >&2; ${saying('{"verdict":"pass"}')}`);
		expect(await passing.adjudicate(large)).toMatchObject({ verdict: "pass" });
	});

	test("an answer that somebody can still add to is none", async () => {
		const answer = await asked(`echo '{"verdict":"pass"}'; sleep 60 &`, { timeoutSeconds: 0.3 });
		expect(answer).toMatchObject({ verdict: "fault", detail: expect.stringContaining("no answer within 0.3 s") });
	});

	test("the crash points come after the request and after the answer", async () => {
		const sites: CrashSite[] = [];
		await asked(saying('{"verdict":"pass"}'), { crash: (site) => sites.push(site) });
		expect(sites).toEqual(["consult.sent", "consult.answered"]);
	});

	test("a control that is still being written is waited for", async () => {
		const command = writeControl(workspace, saying('{"verdict":"pass"}'));
		const fd = openSync(command, "r+");
		setTimeout(() => closeSync(fd), 40);
		expect(await at(command).adjudicate(QUESTION)).toMatchObject({ verdict: "pass" });
	});

	test("the label carries the digest of the file that was asked", async () => {
		const command = writeControl(workspace, saying('{"verdict":"pass"}'));
		const asking = at(command);
		expect(asking.label).toBe(`${command} sha256:unknown`);
		await asking.adjudicate(QUESTION);
		expect(asking.label).toBe(`${command} sha256:${sha256Hex(readFileSync(command))}`);
	});

	test("no control is not a pass", async () => {
		const context = { workspace, env: {}, effects: { crash: () => undefined }, track: () => () => undefined };
		const none = createControl({ kind: "none" }, context);
		expect(await none.adjudicate(QUESTION)).toEqual({ verdict: "none", ms: 0 });
		expect(none.label).toBeUndefined();
	});
});
