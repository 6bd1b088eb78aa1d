import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ProcessRecord, sha256Hex } from "@lernie/contract";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../process/fixtures/run.ts";
import { isDead, readStat } from "../process/identity.ts";
import type { CrashSite } from "../workspace/crash.ts";
import {
	CALL,
	type ControlOptions,
	controlAt,
	createWorkspace,
	detailOf,
	QUESTION,
	writeControl,
} from "./fixtures/consult.ts";
import type { Adjudication, Control, Question } from "./types.ts";

let workspace: string;
const open: Control[] = [];
/** The processes that were started, the newest last. */
const started: number[] = [];
beforeAll(() => {
	workspace = createWorkspace();
});
afterEach(async () => {
	for (const control of open.splice(0)) await control.close();
});
afterAll(() => rmSync(workspace, { recursive: true }));

const at = (command: string, options: ControlOptions = {}): Control => {
	const track = ({ pgid }: ProcessRecord) => {
		started.push(pgid);
		return () => undefined;
	};
	const control = controlAt(workspace, command, { track, ...options, mode: "serve" });
	open.push(control);
	return control;
};

/** A control that runs `body` for each line, with the line in `$line` and the number of lines so far in `$n`. */
const each = (body: string, options?: ControlOptions): Control =>
	at(writeControl(workspace, `n=0; while IFS= read -r line; do n=$((n+1)); ${body}\ndone`), options);

const PASS = '{"verdict":"pass","id":"t1"}';
/** Says it in one write; the shell's own printf writes line by line. */
const saying = (text: string): string => `env printf '%s\\n' '${text}'`;
const asking = (id: string): Question => ({ ...QUESTION, call: { ...CALL, id } });
const names = (answer: Adjudication): Adjudication => ({ ...answer, ms: 0 });

const alive = (pid: number): boolean => {
	const stat = readStat(pid);
	return stat !== undefined && !isDead(stat);
};

describe("what it is told", () => {
	test("each request is a line: the five keys, then what would run", async () => {
		const control = each(`printf '%s\\n' "$line" >> lines; ${saying(PASS)}`);
		await control.adjudicate(QUESTION);
		await control.adjudicate({ ...QUESTION, program: "builtin:cd", sha256: undefined, confined: true });
		const five = '{"id":"t1","name":"bash","input":{"n":9007199254740993,"f":1.0},"role":"worker","agent_id":"a"';
		expect(readFileSync(join(workspace, "lines"), "utf8")).toBe(
			`${five},"program":"/bin/bash","sha256":"ab12","confined":false}\n${five},"program":"builtin:cd","sha256":null,"confined":true}\n`,
		);
	});

	test("it runs in the workspace, with one argument and no word about a call in its environment", async () => {
		const control = at(writeControl(workspace, `echo "$#$1" > args; env > env; read line; ${saying(PASS)}; read line`));
		expect(await control.adjudicate(QUESTION)).toMatchObject({ verdict: "pass" });
		expect(readFileSync(join(workspace, "args"), "utf8")).toBe("1serve\n");
		const lines = readFileSync(join(workspace, "env"), "utf8").split("\n");
		expect(lines).toEqual(
			expect.arrayContaining([`LERNIE_CONV_REPO=${workspace}`, "LERNIE_CONV_BRANCH=a", "EXTRA=e", `PWD=${workspace}`]),
		);
		expect(lines.filter((line) => /^(OPENAI|TOOL_ENV|LERNIE_(CONFINED|CALL|TOOL))/.test(line))).toEqual([]);
	});

	test("what is not one line is never sent", async () => {
		const control = each(`echo x > sent; ${saying(PASS)}`);
		const broken = { ...QUESTION, call: { ...CALL, input: '{\n"a":1}' } };
		expect(detailOf(await control.adjudicate(broken))).toContain("not one line");
		expect(existsSync(join(workspace, "sent"))).toBe(false);
	});

	test("consults that are asked for together are asked one after the other", async () => {
		const control = each(
			`id=\${line#*:\\"}; id=\${id%%\\"*}; read -t 0.05 -r more && exit 9; printf '{"verdict":"hold","reason":"%s","id":"%s"}\\n' $n $id`,
		);
		const answers = await Promise.all(["t1", "t2", "t3"].map((id) => control.adjudicate(asking(id))));
		expect(answers.map(names)).toEqual(["1", "2", "3"].map((reason) => ({ verdict: "hold", reason, ms: 0 })));
	});
});

describe("what it may answer", () => {
	test.each([
		['{"verdict":"pass","id":"t1"}', { verdict: "pass" }],
		[' \t{"id":"t1","reason":null,"verdict":"pass"}\r', { verdict: "pass" }],
		['{"verdict":"refuse","reason":"no","id":"t1"}', { verdict: "refuse", reason: "no" }],
		['{"verdict":"hold","id":"t1","reason":""}', { verdict: "hold", reason: "" }],
	])("%j", async (text, expected) => {
		expect(await each(saying(text)).adjudicate(QUESTION)).toEqual({ ...expected, ms: expect.any(Number) });
	});

	test.each([
		["no id", '{"verdict":"pass"}', "stdout is not a verdict (no id)"],
		["another id", '{"verdict":"pass","id":"t2"}', 'stdout is not a verdict (the id is not "t1")'],
		["a word that is none", '{"verdict":"ok","id":"t1"}', "stdout is not a verdict ("],
		["an empty line", "", "stdout is not a verdict ("],
		["a verdict over two lines", '{"verdict":"pass",\n"id":"t1"}', "stdout is not a verdict ("],
		["a word before it", `thinking\n${PASS}`, "stdout is not a verdict ("],
		["two verdicts", `${PASS}\n${PASS}`, `it wrote while nothing was asked: ${PASS}`],
		["an empty line behind it", `${PASS}\n`, "it wrote while nothing was asked: "],
		["a line over 64 KiB", `${PASS}${" ".repeat(64 * 1024)}`, "stdout is not a verdict (longer than 65536 bytes)"],
	])("but not %s", async (_, text, detail) => {
		expect(detailOf(await each(saying(text)).adjudicate(QUESTION))).toContain(detail);
	});
});

describe("faults", () => {
	test("name the command and the tool and say that the call was not run", async () => {
		const started = at("/nowhere/control").adjudicate(QUESTION);
		expect(detailOf(await started)).toMatch(
			/^control "\/nowhere\/control" could not judge the call of "bash", which was not run: spawn control "\/nowhere\/control": /,
		);
		const exits = each("echo ' guardian down ' >&2; exit 3");
		expect(detailOf(await exits.adjudicate(QUESTION))).toMatch(/: exited 3; stderr: guardian down$/);
	});

	test("the control of the next consult is another process, and the old one has ended", async () => {
		const control = each(`echo $$ >> pids; [ -e mended ] || echo oops; ${saying(PASS)}`);
		expect(detailOf(await control.adjudicate(QUESTION))).toContain("stdout is not a verdict");
		const pids = (): number[] => readFileSync(join(workspace, "pids"), "utf8").trim().split("\n").map(Number);
		expect(pids().map(alive)).toEqual([false]);
		writeFileSync(join(workspace, "mended"), "");
		expect(await control.adjudicate(QUESTION)).toMatchObject({ verdict: "pass" });
		expect(await control.adjudicate(QUESTION)).toMatchObject({ verdict: "pass" });
		const [first, second, third] = pids();
		expect(second).not.toBe(first);
		expect(third).toBe(second);
	});

	test("a line between two consults is the fault of the second and answers nothing", async () => {
		const go = join(workspace, "go");
		const control = each(`${saying(PASS)}; while [ ! -e ${go} ]; do sleep 0.01; done; ${saying(PASS)}`);
		expect(await control.adjudicate(QUESTION)).toMatchObject({ verdict: "pass" });
		const pid = started.at(-1) ?? 0;
		writeFileSync(go, "");
		await eventually(() => !alive(pid));
		expect(detailOf(await control.adjudicate(QUESTION))).toContain("it wrote while nothing was asked");
	});

	test("no answer in time ends it, and the time of a first consult counts from its start", async () => {
		const slow = at(writeControl(workspace, `sleep 0.4; while read -r line; do sleep 0.4; ${saying(PASS)}; done`), {
			timeoutSeconds: 0.6,
		});
		expect(detailOf(await slow.adjudicate(QUESTION))).toContain("no answer within 0.6 s");
		const quick = at(writeControl(workspace, `sleep 0.1; while read -r line; do sleep 0.4; ${saying(PASS)}; done`), {
			timeoutSeconds: 5,
		});
		for (let n = 0; n < 3; n += 1) expect(await quick.adjudicate(QUESTION)).toMatchObject({ verdict: "pass" });
	});

	test("a stop ends the consult under way, and nothing is started after it", async () => {
		const stop = new AbortController();
		const control = each("echo $$ > stopping; sleep 60", { stop: stop.signal });
		const answer = control.adjudicate(QUESTION);
		const pid = Number(
			await eventually(
				() => existsSync(join(workspace, "stopping")) && readFileSync(join(workspace, "stopping"), "utf8"),
			),
		);
		rmSync(join(workspace, "stopping"));
		stop.abort();
		expect(detailOf(await answer)).toContain("stopped while it was asked");
		expect(alive(pid)).toBe(false);
		expect(detailOf(await control.adjudicate(QUESTION))).toContain("stopped before it started");
		expect(existsSync(join(workspace, "stopping"))).toBe(false);
	});

	test("one that cannot be put on record is one, and the process is ended", async () => {
		const groups: ProcessRecord[] = [];
		const track = (group: ProcessRecord): never => {
			groups.push(group);
			throw new Error("disk full");
		};
		expect(detailOf(await each(saying(PASS), { track }).adjudicate(QUESTION))).toContain("disk full");
		expect(groups.map(({ pgid }) => alive(pgid))).toEqual([false]);
	});
});

describe("its life", () => {
	test("nothing is started before the first consult", async () => {
		const control = at(writeControl(workspace, "touch early"));
		await control.close();
		expect(existsSync(join(workspace, "early"))).toBe(false);
	});

	test("one that ended between two consults is started again without a word", async () => {
		const control = each(saying(PASS));
		await control.adjudicate(QUESTION);
		const pid = started.at(-1) ?? 0;
		process.kill(pid, "SIGKILL");
		await eventually(() => !alive(pid));
		expect(await control.adjudicate(QUESTION)).toMatchObject({ verdict: "pass" });
		expect(started.at(-1)).not.toBe(pid);
	});

	test("closing ends it, and nothing is asked any more", async () => {
		const control = at(writeControl(workspace, `while read -r line; do ${saying(PASS)}; done; touch ended`));
		await control.adjudicate(QUESTION);
		await control.close();
		expect(existsSync(join(workspace, "ended"))).toBe(true);
		expect(detailOf(await control.adjudicate(QUESTION))).toContain("after the drive had ended");
	});

	test("the label carries the digest of the file it was started from", async () => {
		const command = writeControl(workspace, `while read -r line; do ${saying(PASS)}; done`);
		const control = at(command);
		expect(control.label).toBe(`${command} sha256:unknown`);
		const label = `${command} sha256:${sha256Hex(readFileSync(command))}`;
		await control.adjudicate(QUESTION);
		expect(control.label).toBe(label);
		rmSync(command);
		writeFileSync(command, "another", { mode: 0o755 });
		expect(await control.adjudicate(QUESTION)).toMatchObject({ verdict: "pass" });
		expect(control.label).toBe(label);
	});

	test("the crash points come after the request and after the answer", async () => {
		const sites: CrashSite[] = [];
		const control = each(saying(PASS), { crash: (site) => sites.push(site) });
		await control.adjudicate(QUESTION);
		await control.adjudicate(QUESTION);
		expect(sites).toEqual(["consult.sent", "consult.answered", "consult.sent", "consult.answered"]);
	});
});
