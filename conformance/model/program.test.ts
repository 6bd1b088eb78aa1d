import { spawnSync } from "node:child_process";
import { expect } from "vitest";
import {
	answer,
	attemptsOf,
	begin,
	createModelled,
	createSending,
	failure,
	finish,
	linesOf,
	SENDS,
	say,
	sends,
	shellModel,
} from "../support/model.ts";
import { createPlace, isAlive } from "../support/place.ts";
import { stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import type { Workspace } from "../support/workspace.ts";

const KEY = "sk-0123456789abcdef";

verifies(
	["model-command-start", "model-command-env"],
	"the program gets two arguments, a closed environment, the workspace's root and a group of its own",
	async () => {
		const ws = await createSending([answer("one"), answer("two")], { row: { env: ["ACME_KEY", "ACME_UNSET"] } });
		const env = { ACME_KEY: KEY, OTHER_KEY: "sk-other", LC_TIME: "C", LERNIE_NOW: "2026-01-01T00:00:00Z" };
		const ran = await ws.run("hi", { env, cwd: ws.path("person") });
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		const [given, ...more] = attemptsOf(ws);
		expect(more).toEqual([]);
		expect(given?.args).toEqual(["--json", "--provider", "own"]);
		expect(given?.cwd).toBe(ws.dir);
		expect(given?.env).toEqual({
			...ws.env,
			LC_TIME: "C",
			ACME_KEY: KEY,
			LERNIE_CONV_REPO: ws.dir,
			LERNIE_CONV_BRANCH: ran.agent,
		});
		expect([given?.ids.group, given?.ids.session]).toEqual([given?.ids.pid, given?.ids.pid]);
	},
);

verifies(
	"model-command-key",
	"a key that reaches the program reaches no tool and no file of the workspace",
	async () => {
		const place = createPlace();
		place.tool("show", "#!/bin/sh\nenv\n");
		const call = { tool_use: { id: "t1", name: "show" } };
		const asks = [
			begin,
			{ type: "content_start", index: 0, kind: call },
			{ type: "content_stop", index: 0 },
			...finish,
		];
		const ws = await createSending([failure("transport"), asks, answer("done")], {
			place,
			tools: ["show"],
			row: { env: ["ACME_KEY"] },
			workflow: { retry: { base_ms: 1 } },
		});
		const ran = await ws.run("hi", { env: { ACME_KEY: KEY } });
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(attemptsOf(ws).map(({ env }) => env.ACME_KEY)).toEqual([KEY, KEY, KEY]);
		expect(ws.results(ran.agent)[0]?.text).toContain("LERNIE_CALL=");
		const found = spawnSync("grep", ["-rlF", KEY, ws.dir], { encoding: "utf8" });
		expect([found.status, found.stdout]).toEqual([1, ""]);
		const objects = ws.git("cat-file", "--batch-all-objects", "--batch", "--buffer");
		expect(objects).toContain("LERNIE_CALL=");
		expect(objects).not.toContain(KEY);
	},
);

const LONG = "é€😀x".repeat(100_000);

/** Programs that send the same answer, each in its own way. */
const writers: Readonly<Record<string, string>> = {
	"with CRLF and blank lines": "sed 's/$/\\r/' $here/sent.$n | sed 's/$/\\n\\r/'",
	"in blocks that cut characters": "dd if=$here/sent.$n bs=4099 status=none",
	"slowly, byte by byte at first": `head -c 300 $here/sent.$n | while IFS= read -r -N1 byte; do printf '%s' "$byte"; done; tail -c +301 $here/sent.$n`,
};

for (const [how, body] of Object.entries(writers))
	verifies("model-command-lines", `an answer of long lines is read as sent: ${how}`, async () => {
		const sent = [begin, ...say("short"), ...say(LONG, 1), ...finish];
		const ws = await createModelled((place) => shellModel(place, `export LC_ALL=C\n${body}`));
		sends(ws, [sent]);
		expect(
			linesOf(sent)
				.split("\n")
				.some((line) => Buffer.byteLength(line) > 1_000_000),
		).toBe(true);
		const ran = await ws.run();
		expect(ran.code, ran.stderr).toBe(0);
		const content = [
			{ type: "text", text: "short" },
			{ type: "text", text: LONG },
		];
		expect(JSON.parse(ws.entries(ran.agent)[1]?.text ?? "")).toEqual({ content });
		expect(ws.read(stepFile(ran.agent, "001", "response.json"))).toBe(linesOf(sent));
	});

verifies("model-command-torn", "a last line without its newline is no event, even where it is whole JSON", async () => {
	const ws = await createSending([linesOf(answer("x")).trimEnd()]);
	const ran = await ws.run();
	expect(ran).toMatchObject({ code: 13, stderr: expect.stringContaining("inside a line, exit code 0") });
	expect(ws.read(stepFile(ran.agent, "001", "response.json"))).toBe(linesOf(answer("x")).trimEnd());
	expect(ws.entries(ran.agent)).toHaveLength(1);
});

verifies("model-command-too-long", "a line over 16 MiB is malformed, and the program is not waited for", async () => {
	const ws = await createModelled((place) => shellModel(place, "yes | tr -d '\\n'"));
	const ran = await ws.run();
	expect(ran).toMatchObject({ code: 13, stderr: expect.stringContaining("longer than 16 MiB") });
	expect(ran.stderr.length).toBeLessThan(5000);
	// The rest of it, which never ends, is no second line.
	expect(ws.read(stepFile(ran.agent, "001", "response.json"))).toBe(`${"y".repeat(16 * 1024 * 1024 + 1)}\n`);
});

verifies(
	"model-command-stderr",
	"50 MB of stderr are drained into the log, with the driver's memory flat",
	async () => {
		const ws = await createModelled((place) =>
			shellModel(place, `yes 0123456789 | head -c 50000000 >&2\n${SENDS}\ngrep VmHWM /proc/$PPID/status > $here/peak`),
		);
		sends(ws, [answer("done")]);
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(Buffer.byteLength(ws.read(stepFile(ran.agent, "001", "stderr.log")))).toBe(50_000_000);
		const peakKiB = Number(/\d+/.exec(ws.read("model/peak"))?.[0]);
		expect(peakKiB).toBeGreaterThan(0);
		expect(peakKiB).toBeLessThan(150 * 1024);
	},
);

verifies("model-command-stderr", "the log holds the stderr of every attempt, in order", async () => {
	const ws = await createModelled((place) => shellModel(place, `echo "run $n" >&2\n${SENDS}`), {
		workflow: { retry: { base_ms: 1 } },
	});
	sends(ws, [failure("transport"), failure("transport"), answer("done")]);
	const { agent, code } = await ws.run();
	expect([code, ws.read(stepFile(agent, "001", "stderr.log"))]).toEqual([0, "run 1\nrun 2\nrun 3\n"]);
});

const pidsIn = (ws: Workspace): readonly number[] =>
	["leader", "child"].map((name) => Number(ws.read(`model/${name}`)));

verifies(
	"model-command-linger",
	"a program that stays after its answer is ended with what it started, and the answer counts",
	async () => {
		const ws = await createModelled((place) =>
			shellModel(place, `sleep 60 & echo $! > $here/child; echo $$ > $here/leader\ntrap '' TERM\n${SENDS}\nsleep 60`),
		);
		sends(ws, [answer("done")]);
		expect(await ws.run()).toMatchObject({ code: 0, stdout: "done\n" });
		const pids = pidsIn(ws);
		expect([pids.every((pid) => pid > 1), pids.filter(isAlive)]).toEqual([true, []]);
	},
);
