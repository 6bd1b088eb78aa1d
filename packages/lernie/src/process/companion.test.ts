import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ProcessRecord } from "@lernie/contract";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Companion, type CompanionOptions, type Reply, startCompanion } from "./companion.ts";
import { eventually } from "./fixtures/run.ts";
import { isDead, readStat } from "./identity.ts";

const LINE_BYTES = 64;

let scratch: string;
const open: Companion[] = [];
beforeAll(() => {
	scratch = mkdtempSync(join(tmpdir(), "lernie-companion-"));
});
afterEach(async () => {
	for (const companion of open.splice(0)) await companion.kill(0);
});
afterAll(() => rmSync(scratch, { recursive: true }));

const alive = (pid: number): boolean => {
	const stat = readStat(pid);
	return stat !== undefined && !isDead(stat);
};

const start = async (script: string, options: Partial<CompanionOptions> = {}): Promise<Companion> => {
	const started = await startCompanion({
		program: "/bin/bash",
		args: ["--noprofile", "--norc", "-c", script],
		env: { PATH: process.env.PATH ?? "" },
		cwd: scratch,
		lineBytes: LINE_BYTES,
		stderrBytes: 100,
		track: () => () => undefined,
		...options,
	});
	if ("refused" in started) throw started.refused;
	open.push(started);
	return started;
};

const ask = (companion: Companion, line: string, withinMs = 20_000): Promise<Reply> =>
	companion.ask(line, { deadline: performance.now() + withinMs });

/** A reply with its bytes as text. */
const shown = (reply: Reply): unknown => ("bytes" in reply ? { ...reply, bytes: reply.bytes.toString() } : reply);

/** What came together with the answer `one`. The shell's own printf writes line by line. */
const behind = (bytes: string) => ({ kind: "unasked", line: Buffer.from("one"), bytes });

/** Waits without giving a turn to events, so that nobody can have been told of what happens meanwhile. */
const whileNothingIsHeard = (probe: () => boolean): void => {
	const until = performance.now() + 10_000;
	while (!probe()) if (performance.now() > until) throw new Error("it did not happen");
};

const ECHO = 'while IFS= read -r line; do echo "got $line"; done';

describe("lines", () => {
	test("each is answered by one, by the same process", async () => {
		const companion = await start('while IFS= read -r line; do echo "$$ $line"; done');
		const first = shown(await ask(companion, "a"));
		const pid = /\d+/.exec(JSON.stringify(first))?.[0];
		expect(shown(await ask(companion, "b"))).toEqual({ kind: "line", bytes: `${pid} b` });
	});

	test("an answer may come in pieces, and be as long as the limit, and empty", async () => {
		const long = "x".repeat(LINE_BYTES);
		const companion = await start(
			`read a; printf ab; sleep 0.05; echo c; read a; echo ${long}; read a; echo; read a; printf '\\0\\r\\n'; read a`,
		);
		expect(shown(await ask(companion, "1"))).toEqual({ kind: "line", bytes: "abc" });
		expect(shown(await ask(companion, "2"))).toEqual({ kind: "line", bytes: long });
		expect(shown(await ask(companion, "3"))).toEqual({ kind: "line", bytes: "" });
		expect(shown(await ask(companion, "4"))).toEqual({ kind: "line", bytes: "\0\r" });
	});

	test("a line larger than a pipe reaches it whole", async () => {
		const companion = await start('while IFS= read -r line; do printf %s "$line" | wc -c; done');
		expect(shown(await ask(companion, "x".repeat(300_000)))).toEqual({ kind: "line", bytes: "300000" });
	});

	test("an answer may come before the line was read", async () => {
		const companion = await start("read -n 1 a; echo early; cat > /dev/null; echo never");
		expect(shown(await ask(companion, "x".repeat(300_000)))).toEqual({ kind: "line", bytes: "early" });
	});

	test("the streams can be opened by name", async () => {
		const companion = await start("head -n 1 /dev/stdin > /dev/stdout; echo loud > /dev/stderr; sleep 60");
		expect(shown(await ask(companion, "a"))).toEqual({ kind: "line", bytes: "a" });
		await eventually(() => companion.stderr().toString() === "loud\n");
	});
});

describe("no answer", () => {
	test.each([
		["an exit", "read a; echo why >&2; exit 3", { kind: "exited", code: 3 }],
		["an exit with half an answer", "read a; printf half; exit 0", { kind: "exited", code: 0 }],
		["an exit before anything is read", "exit 4", { kind: "exited", code: 4 }],
		["a signal", "read a; kill -KILL $$", { kind: "signalled", signal: "SIGKILL", number: 9 }],
		["a line too long", `read a; printf '%065d\\n' 0; read a`, { kind: "too-long", bytes: "0".repeat(LINE_BYTES) }],
		["bytes without end", "read a; exec cat /dev/zero", { kind: "too-long", bytes: "\0".repeat(LINE_BYTES) }],
		["two lines at once", "read a; env printf 'one\\ntwo\\n'; read a", behind("two\n")],
		["an empty line behind the answer", "read a; env printf 'one\\n\\n'; read a", behind("\n")],
		["a beginning behind the answer", "read a; env printf 'one\\nt'; read a", behind("t")],
		["a closed stdout", "read a; exec >&-; sleep 60", { kind: "closed" }],
	])("%s", async (_, script, expected) => {
		const companion = await start(script);
		expect(shown(await ask(companion, "a"))).toEqual(expected);
		expect(shown(await ask(companion, "b"))).toEqual(expected);
	});

	test("a line that was there before anything was asked", async () => {
		const companion = await start("echo early; touch said; read a; echo late", { cwd: scratch });
		whileNothingIsHeard(() => existsSync(join(scratch, "said")));
		expect(shown(await ask(companion, "a"))).toEqual({ kind: "unasked", bytes: "early\n" });
	});

	test("a line between two", async () => {
		const more = join(scratch, "more");
		const script = `read a; echo one; while [ ! -e ${more} ]; do sleep 0.01; done; echo two; echo x > ${more}.said; read a; echo three`;
		const companion = await start(script);
		expect(shown(await ask(companion, "a"))).toEqual({ kind: "line", bytes: "one" });
		writeFileSync(more, "");
		whileNothingIsHeard(() => existsSync(`${more}.said`));
		expect(shown(await ask(companion, "b"))).toEqual({ kind: "unasked", bytes: "two\n" });
	});

	test("a line that is heard while nothing is asked ends it at once", async () => {
		const companion = await start("echo early; exec sleep 60");
		await eventually(() => companion.unasked()?.toString() === "early\n");
		await eventually(() => companion.ended() !== undefined);
	});

	test("in time", async () => {
		const companion = await start("read a; printf half; sleep 60");
		expect(await ask(companion, "a", 200)).toEqual({ kind: "timed-out" });
	});

	test("after a stop, which ends it at once", async () => {
		const stop = new AbortController();
		const companion = await start("read a; touch asked; sleep 60");
		const reply = companion.ask("a", { deadline: performance.now() + 20_000, stop: stop.signal });
		await eventually(() => existsSync(join(scratch, "asked")));
		stop.abort();
		expect(await reply).toEqual({ kind: "stopped" });
	});

	test("once it was stopped before it was asked", async () => {
		const companion = await start(`read a; echo x > read; ${ECHO}`);
		const stopped = { deadline: performance.now() + 20_000, stop: AbortSignal.abort() };
		expect(await companion.ask("a", stopped)).toEqual({ kind: "stopped" });
		expect(existsSync(join(scratch, "read"))).toBe(false);
	});

	test("a second line before the first was answered is a defect of the caller", async () => {
		const companion = await start("read a; sleep 0.1; echo one; read a");
		const first = ask(companion, "a");
		await expect(ask(companion, "b")).rejects.toMatchObject({ code: "INTERNAL" });
		expect(shown(await first)).toEqual({ kind: "line", bytes: "one" });
	});
});

describe("its life", () => {
	test("what was answered before an exit counts, and the next line finds it gone", async () => {
		const companion = await start("read a; echo one; exit 1");
		expect(shown(await ask(companion, "a"))).toEqual({ kind: "line", bytes: "one" });
		await eventually(() => companion.ended() !== undefined);
		expect(await ask(companion, "b")).toEqual({ kind: "gone" });
	});

	test("one that is killed between two lines is gone, even before anybody was told", async () => {
		const companion = await start("while read a; do echo $$; done");
		const reply = await ask(companion, "a");
		const pid = Number("bytes" in reply ? reply.bytes : 0);
		process.kill(pid, "SIGKILL");
		whileNothingIsHeard(() => !alive(pid));
		expect(await ask(companion, "b")).toEqual({ kind: "gone" });
	});

	test("what is left of its group is ended with it", async () => {
		const companion = await start(`trap '' TERM; read a; sleep 60 & echo $!; read a; echo late`);
		const reply = await ask(companion, "a");
		const pid = Number("bytes" in reply ? reply.bytes : 0);
		expect(alive(pid)).toBe(true);
		await companion.kill(100);
		expect(alive(pid)).toBe(false);
	});

	test("it is on record from the spawn until its group is gone", async () => {
		const told: string[] = [];
		let group: ProcessRecord | undefined;
		const companion = await start(ECHO, {
			track: (record) => {
				group = record;
				told.push("tracked");
				return () => told.push(alive(record.pgid) ? "alive" : "gone");
			},
		});
		await ask(companion, "a");
		expect(told).toEqual(["tracked"]);
		await companion.close();
		expect(told).toEqual(["tracked", "gone"]);
		expect(alive(group?.pgid ?? 0)).toBe(false);
	});

	test("one that cannot be recorded is killed", async () => {
		const pids: number[] = [];
		const track = ({ pgid }: ProcessRecord): never => {
			pids.push(pgid);
			throw new Error("disk full");
		};
		await expect(start(ECHO, { track })).rejects.toThrow("disk full");
		expect(pids.map(alive)).toEqual([false]);
	});

	test("closing lets it end by itself", async () => {
		const companion = await start(`${ECHO}; echo end > end; exit 7`);
		await ask(companion, "a");
		await companion.close();
		expect(companion.ended()).toEqual({ kind: "exited", code: 7 });
		expect(readFileSync(join(scratch, "end"), "utf8")).toBe("end\n");
	});

	test("closing ends one that does not listen", async () => {
		const companion = await start("read a; echo one; exec sleep 60");
		await ask(companion, "a");
		const began = performance.now();
		await companion.close();
		expect(performance.now() - began).toBeGreaterThan(1900);
		expect(companion.ended()).toEqual({ kind: "signalled", signal: "SIGTERM", number: 15 });
	});

	test("closing while it is asked ends the question", async () => {
		const companion = await start("read a; touch begun; read a; exit 5");
		const reply = ask(companion, "a");
		await eventually(() => existsSync(join(scratch, "begun")));
		await companion.close();
		expect(await reply).toEqual({ kind: "exited", code: 5 });
	});

	test("only the end of its stderr is kept", async () => {
		const companion = await start("head -c 1000000 /dev/zero >&2; printf '%0100d' 7 >&2; read a; echo one; read a");
		expect(shown(await ask(companion, "a"))).toEqual({ kind: "line", bytes: "one" });
		expect(companion.stderr().toString()).toBe(`${"0".repeat(99)}7`);
	});

	test("a program that is not there is not started", async () => {
		const options = { program: "/nowhere/at/all", track: () => () => undefined };
		await expect(start("", options)).rejects.toMatchObject({ code: "ENOENT" });
	});
});
