import { chmodSync, closeSync, openSync, readdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifies } from "../../../../conformance/support/verifies.ts";
import { eventually, run, shell } from "./fixtures/run.ts";
import { isDead, readStat } from "./identity.ts";
import { createLimit, type Flow } from "./sink.ts";

const FAMILY = join(import.meta.dirname, "fixtures/stubborn-family.sh");
const alive = (pid: number): boolean => {
	const stat = readStat(pid);
	return stat !== undefined && !isDead(stat);
};

let scratch: string;
beforeAll(async () => {
	scratch = await mkdtemp(join(tmpdir(), "lernie-run-child-"));
});
afterAll(() => rm(scratch, { recursive: true }));

describe("the outcome is what happened", () => {
	test("an exit code is kept", async () => {
		expect((await shell("exit 42")).end).toMatchObject({ kind: "exited", code: 42 });
	});

	verifies("process-bug-1", "a child that dies by a signal is not reported as code 0", async () => {
		expect((await shell("kill -SEGV $$")).end).toMatchObject({ kind: "signalled", signal: "SIGSEGV", number: 11 });
	});

	test.each([
		["missing", "/nowhere/at/all", "ENOENT"],
		["a directory", "/tmp", "EACCES"],
		["with a NUL in its name", "/bin/a\0b", "ERR_INVALID_ARG_VALUE"],
	])("a program that is %s is not started", async (_, program, errno) => {
		expect((await run({ program })).end).toMatchObject({ kind: "not-started", errno });
	});

	test("an argument larger than the kernel takes is not started", async () => {
		const { end } = await run({ program: "/bin/true", args: ["x".repeat(200_000)] });
		expect(end).toMatchObject({ kind: "not-started", errno: "E2BIG" });
	});

	verifies("process-bug-3", "a multi-byte character is not split by the chunks it comes in", async () => {
		const { stdout } = await shell(`printf '\\342'; sleep 0.05; printf '\\202\\254'`);
		expect(stdout.toString("utf8")).toBe("€");
	});

	test("both streams are read while a large stdin is written", async () => {
		const stdin = Buffer.alloc(300_000, "x");
		const { end, stdout, stderr } = await shell("tee /dev/stderr", { stdin });
		expect(end).toMatchObject({ kind: "exited", code: 0 });
		expect([stdout.length, stderr.length]).toEqual([stdin.length, stdin.length]);
	});

	test("a child that does not read its stdin is no error", async () => {
		expect((await shell("exec 0<&-; exit 3", { stdin: Buffer.alloc(1_000_000) })).end).toMatchObject({ code: 3 });
	});

	test("the three streams can be opened by name", async () => {
		const script = "cat /dev/stdin | tee /dev/stderr; echo more > /dev/stdout; echo other > /dev/stderr";
		const { stdout, stderr } = await shell(script, { stdin: "in\n" });
		expect([stdout.toString(), stderr.toString()]).toEqual(["in\nmore\n", "in\nother\n"]);
	});

	test("stdin can be opened by name after it was read, and by name only", async () => {
		expect((await shell("cat; cat /dev/stdin", { stdin: "in\n" })).stdout.toString()).toBe("in\nin\n");
	});

	test("without stdin there is an empty one", async () => {
		expect((await shell("cat; echo end")).stdout.toString()).toBe("end\n");
	});

	test("nothing is inherited that was not given", async () => {
		process.env.LERNIE_TEST_SECRET = "sk-1";
		const { stdout } = await run({ program: "/usr/bin/env", env: { ONLY: "this" } });
		delete process.env.LERNIE_TEST_SECRET;
		expect(stdout.toString()).toBe("ONLY=this\n");
	});

	test("the child leads its own session and group", async () => {
		let pid = 0;
		const { stdout } = await shell("cut -d' ' -f5,6 /proc/$$/stat", { onSpawned: (spawned) => (pid = spawned) });
		expect(stdout.toString()).toBe(`${pid} ${pid}\n`);
	});
});

describe("the hook", () => {
	test("a hook that throws ends the child's group and is passed on", async () => {
		let pid = 0;
		const running = shell("trap '' TERM; sleep 60", {
			onSpawned: (spawned) => {
				pid = spawned;
				throw new Error("no record");
			},
		});
		await expect(running).rejects.toThrow("no record");
		expect(alive(pid)).toBe(false);
	});
});

describe("ending a child", () => {
	verifies("process-bug-2", "a stop ends the whole family, though none of it heeds SIGTERM", async () => {
		const stop = new AbortController();
		const stdout = createLimit({ maxBytes: 1000 });
		const running = run({ program: FAMILY, stdout, stop: stop.signal, graceMs: 100 });
		const family = await eventually(() => {
			const pids = stdout.bytes().toString().trim().split("\n").map(Number);
			return pids.length === 3 && pids;
		});
		stop.abort();
		expect((await running).end).toMatchObject({ kind: "signalled", signal: "SIGKILL" });
		expect(family.map(alive)).toEqual([false, false, false]);
	});

	test("a time limit ends the group, and output up to it is kept", async () => {
		const { end, stdout } = await shell("echo early; sleep 60 & sleep 60", { timeoutMs: 1000 });
		expect(end).toMatchObject({ kind: "timed-out", timeoutMs: 1000 });
		expect(stdout.toString()).toBe("early\n");
	});

	verifies("process-bug-2", "SIGKILL comes after the grace, not before", async () => {
		const stop = new AbortController();
		let stopped = 0;
		const write = (): void => {
			stopped = performance.now();
			stop.abort();
		};
		const { end } = await shell("trap '' TERM; echo up; while :; do sleep 0.02; done", {
			stop: stop.signal,
			graceMs: 300,
			stdout: { write, end: () => undefined },
		});
		expect(end).toMatchObject({ kind: "signalled", signal: "SIGKILL" });
		expect(performance.now() - stopped).toBeGreaterThanOrEqual(300);
	});

	test("a limit longer than a timer can be does not fire at once", async () => {
		expect((await shell("sleep 0.1", { timeoutMs: 2 ** 40 })).end).toMatchObject({ kind: "exited", code: 0 });
	});

	test("a stop ends the group and the outcome is the child's own", async () => {
		const stop = new AbortController();
		const running = shell("trap 'exit 9' TERM; echo up; while :; do sleep 0.02; done", {
			stop: stop.signal,
			stdout: { write: () => stop.abort(), end: () => undefined },
		});
		expect((await running).end).toMatchObject({ kind: "exited", code: 9 });
	});

	test("after a stop nothing starts", async () => {
		const { end } = await shell("exit 0", { stop: AbortSignal.abort() });
		expect(end).toMatchObject({ kind: "not-started", message: "stopped before it started" });
	});

	test("a background process that keeps the pipe does not keep the call, and lives on", async () => {
		const { end, stdout } = await shell("sleep 30 & echo $!", { pipeGraceMs: 100 });
		expect(end).toMatchObject({ kind: "exited", code: 0 });
		expect(end.ms).toBeLessThan(5000);
		const pid = Number(stdout.toString());
		expect(alive(pid)).toBe(true);
		process.kill(pid, "SIGKILL");
	});

	test("what a descendant writes within the grace is still read", async () => {
		const { stdout } = await shell("(sleep 0.1; echo late) & echo first", { pipeGraceMs: 2000 });
		expect(stdout.toString()).toBe("first\nlate\n");
	});
});

describe("a reader that can fall behind", () => {
	test("a paused stream keeps the child waiting, and loses nothing though the child is long gone", async () => {
		let flow: Flow | undefined;
		let pid = 0;
		const sizes: number[] = [];
		const running = shell("echo first; sleep 0.05; head -c 60000 /dev/zero", {
			pipeGraceMs: 20,
			onSpawned: (spawned) => (pid = spawned),
			stdout: {
				attach: (given) => {
					flow = given;
				},
				write: (chunk) => {
					sizes.push(chunk.length);
					flow?.pause();
				},
				end: () => sizes.push(-1),
			},
		});
		await eventually(() => pid !== 0 && !alive(pid));
		// Past the grace that follows the exit, several times over.
		await new Promise((resolve) => setTimeout(resolve, 200));
		const resuming = setInterval(() => flow?.resume(), 1);
		expect((await running).end.kind).toBe("exited");
		clearInterval(resuming);
		expect(sizes.at(-1)).toBe(-1);
		expect(sizes.slice(0, -1).reduce((sum, size) => sum + size)).toBe(60_006);
	});

	test("a sink is ended once, when its stream is, though the child goes on", async () => {
		const stop = new AbortController();
		let ends = 0;
		const { end } = await shell("exec >&-; while :; do sleep 0.05; done", {
			stop: stop.signal,
			stdout: {
				write: () => undefined,
				end: () => {
					ends += 1;
					stop.abort();
				},
			},
		});
		expect(end).toMatchObject({ kind: "signalled", signal: "SIGTERM" });
		expect(ends).toBe(1);
	});
});

describe("a program file that is open for writing", () => {
	const held = (name: string): { path: string; release: () => void } => {
		const path = join(scratch, name);
		writeFileSync(path, "#!/bin/sh\necho ran\n");
		chmodSync(path, 0o755);
		const fd = openSync(path, "r+");
		return { path, release: () => closeSync(fd) };
	};

	verifies("tools-121", "is tried again until it is free", async () => {
		const { path, release } = held("busy-for-a-while");
		setTimeout(release, 40);
		const { stdout } = await run({ program: path, busy: { attempts: 1000, pauseMs: 2 } });
		expect(stdout.toString()).toBe("ran\n");
	});

	verifies("tools-121", "is given up after the given number of tries", async () => {
		const { path, release } = held("busy-for-ever");
		expect((await run({ program: path, busy: { attempts: 3, pauseMs: 1 } })).end).toMatchObject({
			kind: "not-started",
			errno: "ETXTBSY",
		});
		release();
	});
});

verifies("process-bug-4", "no listener, descriptor or timer stays behind", async () => {
	const stop = new AbortController();
	let added = 0;
	const signal: AbortSignal = Object.assign(stop.signal, {
		addEventListener: (...args: Parameters<AbortSignal["addEventListener"]>) => {
			added += 1;
			AbortSignal.prototype.addEventListener.apply(stop.signal, args);
		},
		removeEventListener: (...args: Parameters<AbortSignal["removeEventListener"]>) => {
			added -= 1;
			AbortSignal.prototype.removeEventListener.apply(stop.signal, args);
		},
	});
	const pipes = (): number => readdirSync("/proc/self/fd").length;
	const before = pipes();
	for (let round = 0; round < 10; round += 1) {
		await shell("echo x", { stop: signal, stdin: "y", timeoutMs: 60_000 });
		await run({ program: "/nowhere/at/all", stop: signal, stdin: "y", timeoutMs: 60_000 });
		const { stdout } = await shell("sleep 60 & echo $!", { stop: signal, pipeGraceMs: 20 });
		process.kill(Number(stdout.toString()), "SIGKILL");
		await shell("sleep 60", { stop: signal, timeoutMs: 5, graceMs: 5 });
	}
	expect(added).toBe(0);
	// Other tests of this process may hold a few of their own; forty leaked calls would be hundreds.
	await eventually(() => pipes() < before + 20);
});
