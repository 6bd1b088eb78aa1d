import { spawn } from "node:child_process";
import { utimesSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import { answerWith, tableControl, ticks, tickTool } from "../support/controls.ts";
import { createPlace } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const PACKED = "packed-refs.lock";
const refsOf = (agent: string): readonly string[] => [
	`refs/heads/agents/${agent}`,
	...["owner", "held", "cwd", "limit"].map((kind) => `refs/lernie/${kind}/${agent}`),
];
const locksOf = (agent: string): readonly string[] => refsOf(agent).map((ref) => `${ref}.lock`);

const leaveLocks = (ws: Workspace, locks: readonly string[], ageSeconds = 60): void => {
	const then = new Date(Date.now() - ageSeconds * 1000);
	for (const lock of locks) utimesSync(ws.write(`ws/repo.git/${lock}`, ""), then, then);
};
const left = (ws: Workspace, locks: readonly string[]): readonly string[] =>
	locks.filter((lock) => ws.exists(`ws/repo.git/${lock}`));

/** A program that does something until the test ends, once it has begun. */
const during = async (...argv: readonly [string, ...string[]]): Promise<void> => {
	const child = spawn(argv[0], argv.slice(1), { stdio: ["ignore", "pipe", "ignore"] });
	onTestFinished(() => void child.kill("SIGKILL"));
	await new Promise((resolve) => child.stdout.once("data", resolve));
};

/** An agent whose next drive makes one model call. */
const failedAgent = async (): Promise<{ readonly ws: Workspace; readonly agent: string }> => {
	const ws = await createWorkspace({ script: { calls: [{ attempts: [{ error: { status: 400 } }], say: "done" }] } });
	const { agent } = await ws.run();
	ws.setScript({ calls: [{ say: "done" }] });
	return { ws, agent };
};

verifies(
	"contract-stale-locks",
	"lock files that a killed git left are removed by the next drive, which says so; others' are left alone",
	async () => {
		const { ws, agent } = await failedAgent();
		const other = (await ws.run()).agent;
		const own = [...locksOf(agent), PACKED];
		// The id of another begins like this one's.
		const foreign = [
			...locksOf(other),
			...locksOf(`${agent}-20300101T000000Z-00000000`),
			"refs/heads/config/default.lock",
		];
		leaveLocks(ws, [...own, ...foreign]);
		const ran = await ws.advance(agent);
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		for (const lock of own) expect(ran.stderr).toContain(lock);
		expect(left(ws, own)).toEqual([]);
		expect(left(ws, foreign)).toEqual(foreign);
		for (const lock of foreign) expect(ran.stderr).not.toContain(lock);
		expect(ws.entries(agent).at(-1)?.file).toBe("002-model-a.json");
	},
);

verifies("contract-stale-locks", "every ref that an agent has come to have is one whose lock is removed", async () => {
	const place = createPlace();
	tickTool(place, "tick");
	const control = tableControl(place, { tick: '{"verdict":"hold","reason":"wait"}' });
	const calls = [{ tools: [{ name: "cd", input: { path: "." } }] }, { tools: [{ name: "tick" }] }, { say: "done" }];
	const ws = await createWorkspace({ place, control, tools: ["tick", "cd"], script: { calls } });
	const { agent } = await ws.run("hello", { flags: ["--max-steps", "1"] });
	expect((await ws.in(["message", agent, "go on"], { env: { LERNIE_CRASH_AT: "deposit.written" } })).signal).toBe(
		"SIGKILL",
	);
	expect((await ws.advance(agent)).code).toBe(10);
	const refs = ws
		.git("for-each-ref", "--format=%(refname)")
		.split("\n")
		.filter((ref) => ref.endsWith(`/${agent}`));
	expect(refs).toEqual([...refsOf(agent)].sort());
	leaveLocks(ws, [...refs.map((ref) => `${ref}.lock`), PACKED]);
	// Lifting the hold deletes its ref, for which git locks the packed refs as well.
	answerWith(place, {});
	const ran = await ws.advance(agent);
	expect(ran.code, ran.stderr).toBe(12);
	expect(ticks(place)).toEqual(["tick"]);
	expect(ws.mark(agent)).toBeUndefined();
});

verifies("contract-stale-locks", "the lock of the packed refs stays while it is young or open somewhere", async () => {
	const { ws, agent } = await failedAgent();
	// In the future, so that it is young however long this takes.
	leaveLocks(ws, [PACKED], -60);
	expect((await ws.advance(agent)).code).toBe(0);
	expect(left(ws, [PACKED])).toEqual([PACKED]);
	leaveLocks(ws, [PACKED]);
	await during("sh", "-c", `exec 3<${ws.path("ws/repo.git", PACKED)}; echo open; exec sleep 60`);
	expect((await ws.advance(agent)).code).toBe(0);
	expect(left(ws, [PACKED])).toEqual([PACKED]);
});

verifies("contract-stale-locks", "who does not hold the lease removes no lock", async () => {
	const { ws, agent } = await failedAgent();
	const locks = [...locksOf(agent), PACKED];
	leaveLocks(ws, locks);
	await during("flock", "-F", "-n", "-x", ws.path("ws/inbox", agent), "sh", "-c", "echo held; exec sleep 60");
	expect(await ws.advance(agent)).toMatchObject({ code: 0, stderr: expect.stringContaining("another process drives") });
	for (const verb of [["ls"], ["held"], ["log", agent], ["doctor"], ["scan"]]) expect((await ws.in(verb)).code).toBe(0);
	expect(left(ws, locks)).toEqual(locks);
});
