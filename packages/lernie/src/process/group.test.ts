import { join } from "node:path";
import { expect, test } from "vitest";
import { eventually, run, shell } from "./fixtures/run.ts";
import { endGroup, findProcessesByEnvironment, groupAlive } from "./group.ts";
import { isDead, parseStat, processIdentity, readStat } from "./identity.ts";
import { createLimit } from "./sink.ts";

const FAMILY = join(import.meta.dirname, "fixtures/stubborn-family.sh");
const alive = (pid: number): boolean => {
	const stat = readStat(pid);
	return stat !== undefined && !isDead(stat);
};

test("a program name with blanks and parentheses does not shift the fields", () => {
	const line = `77 (a) (b c)) S 1 70 60 0 -1 4 ${"0 ".repeat(12)}991 0 0`;
	expect(parseStat(line)).toEqual({ pid: 77, state: "S", pgid: 70, session: 60, startTime: "991" });
});

test("a recorded group is ended with all its members, whatever they ignore", async () => {
	const stdout = createLimit({ maxBytes: 1000 });
	let pid = 0;
	const running = run({ program: FAMILY, stdout, onSpawned: (spawned) => (pid = spawned) });
	const family = await eventually(() => {
		const pids = stdout.bytes().toString().trim().split("\n").map(Number);
		return pids.length === 3 ? pids : undefined;
	});
	const record = processIdentity(pid);
	if (record === undefined) throw new Error("the child is gone");
	expect(groupAlive(record)).toBe(true);
	expect(await endGroup(record, 60)).toBe(true);
	expect(family.map(alive)).toEqual([false, false, false]);
	expect(groupAlive(record)).toBe(false);
	expect((await running).end).toMatchObject({ kind: "signalled", signal: "SIGKILL" });
});

test("another start time or another boot is another process: it is left alone", async () => {
	let pid = 0;
	const stop = new AbortController();
	const running = shell("sleep 60", { stop: stop.signal, onSpawned: (spawned) => (pid = spawned) });
	const record = await eventually(() => pid > 0 && processIdentity(pid));
	for (const other of [
		{ ...record, start_time: "1" },
		{ ...record, boot_id: "another" },
	]) {
		expect(groupAlive(other)).toBe(false);
		expect(await endGroup(other, 10)).toBe(true);
	}
	expect(alive(pid)).toBe(true);
	stop.abort();
	await running;
});

test("numbers that mean everybody or oneself are never ended", async () => {
	const own = processIdentity(process.pid);
	if (own === undefined) throw new Error("no /proc");
	for (const pgid of [-1, 0, 1]) expect(groupAlive({ ...own, pgid })).toBe(false);
});

test("a group whose leader is gone is found by its environment and ended", async () => {
	const value = `test-${process.pid}/a/001/t1`;
	const env = { PATH: process.env.PATH ?? "", LERNIE_CALL: value };
	let leader = 0;
	await shell("sleep 60 >/dev/null 2>&1 &", { env, onSpawned: (pid) => (leader = pid) });
	const found = findProcessesByEnvironment("LERNIE_CALL", `test-${process.pid}/a/`);
	expect(found).toMatchObject([{ value, identity: { pgid: leader } }]);
	const record = found[0]?.identity;
	if (record === undefined) throw new Error("nothing found");
	expect(groupAlive(record, { name: "LERNIE_CALL", valuePrefix: "another/" })).toBe(false);
	expect(groupAlive(record, { name: "LERNIE_CALL", valuePrefix: "test-" })).toBe(true);
	expect(await endGroup(record, 500)).toBe(true);
	expect(findProcessesByEnvironment("LERNIE_CALL", value)).toEqual([]);
});

test("a prefix is not a pattern and not a part of another variable", async () => {
	const env = { PATH: process.env.PATH ?? "", NOT_LERNIE_CALL: "only-here" };
	const stop = new AbortController();
	const running = shell("sleep 60", { env, stop: stop.signal });
	await eventually(() => findProcessesByEnvironment("NOT_LERNIE_CALL", "only-here").length > 0);
	expect(findProcessesByEnvironment("LERNIE_CALL", "only-here")).toEqual([]);
	stop.abort();
	await running;
});
