import { execFile, execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { tickTool } from "../support/controls.ts";
import { expectPaired, startRun } from "../support/driving.ts";
import { createPlace } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const run = promisify(execFile);

/** What a person may run in a repository that is in use. */
const CHORES = [
	["log", "--oneline", "--all"],
	["pack-refs", "--all"],
	["repack", "-a", "-d", "-q"],
	["fsck"],
	["gc", "-q"],
	["status", "--short"],
];

verifies(
	"harness-J104",
	"git run by a person in the record during a drive, and locks that a killed git left, do not hinder it",
	async () => {
		const place = createPlace();
		tickTool(place, "tick");
		const turns = Array.from({ length: 12 }, () => ({ tools: [{ name: "tick" }, { name: "tick" }] }));
		const ws = await createWorkspace({ place, script: { calls: [...turns, { say: "done" }] }, tools: ["tick"] });
		for (const lock of ["index.lock", "HEAD.lock", "config.lock"]) ws.write(`ws/repo.git/${lock}`, "");
		const drive = await startRun(ws);
		let over = false;
		void drive.ended.then(() => {
			over = true;
		});
		let chores = 0;
		while (!over) {
			const chore = CHORES[chores % CHORES.length] ?? [];
			// It may find a ref locked, or itself on the wrong side of a lock; the drive must not.
			await run("git", ["-C", ws.repo, ...chore], { env: { ...ws.env } }).catch(() => undefined);
			chores += 1;
		}
		const ran = await drive.ended;
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(chores).toBeGreaterThan(1);
		expect(ws.results(drive.agent)).toHaveLength(24);
		expectPaired(ws, drive.agent);
	},
);

const FILES = 35_000;
const PER_DIRECTORY = 500;

const fill = (directory: string, count: number): void => {
	mkdirSync(directory, { recursive: true });
	for (let at = 0; at < count; at += 1) {
		if (at % PER_DIRECTORY === 0) mkdirSync(join(directory, `d${Math.floor(at / PER_DIRECTORY)}`));
		writeFileSync(join(directory, `d${Math.floor(at / PER_DIRECTORY)}`, `f${at}`), "one content\n");
	}
};

const git = (directory: string, ...args: readonly string[]): string =>
	execFileSync("git", ["-C", directory, "-c", "user.name=t", "-c", "user.email=t@localhost", ...args], {
		encoding: "utf8",
		maxBuffer: 1 << 28,
	});

const objectsOf = (ws: Workspace): number => ws.git("rev-list", "--objects", "--all").trim().split("\n").length;

verifies(
	"harness-J105",
	"a step in a repository of 35,000 files writes what one in an empty directory writes, and takes no longer",
	async () => {
		const place = createPlace();
		const steps = 6;
		const turn = { tools: [{ name: "bash", input: { command: "echo x >> touched.txt" } }] };
		const script = { calls: [...Array(steps).fill(turn), { say: "done" }] };
		const ws = await createWorkspace({ place, script });
		const [large, small] = [place.path("large"), place.path("small")];
		fill(large, FILES);
		for (const directory of [large, small]) {
			mkdirSync(directory, { recursive: true });
			git(directory, "init", "-q");
			git(directory, "add", "-A");
			git(directory, "commit", "-q", "--allow-empty", "-m", "all");
		}
		// Somebody's git was killed in it.
		place.write("large/.git/index.lock", "");
		const costs = async (directory: string) => {
			const before = objectsOf(ws);
			const from = performance.now();
			const ran = await ws.run("go", { flags: ["--cwd", directory] });
			expect(ran, ran.stderr).toMatchObject({ code: 0 });
			return { objects: objectsOf(ws) - before, ms: performance.now() - from };
		};
		// The first run in a directory adds its name to the record.
		for (const directory of [small, large]) await costs(directory);
		const taken: Record<"small" | "large", Awaited<ReturnType<typeof costs>>[]> = { small: [], large: [] };
		for (const _ of [1, 2, 3]) {
			taken.small.push(await costs(small));
			taken.large.push(await costs(large));
		}
		const objects = new Set([...taken.small, ...taken.large].map((cost) => cost.objects));
		expect(objects.size, [...objects].join()).toBe(1);
		expect(place.read("large/touched.txt")).toBe("x\n".repeat(4 * steps));
		// A look at every file would take a multiple.
		const times = (which: "small" | "large"): readonly number[] => taken[which].map(({ ms }) => ms);
		expect(Math.min(...times("large"))).toBeLessThan(2 * Math.max(...times("small")));
	},
	180_000,
);
