import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { initRepo, openRepo } from "../packages/lernie/src/git/repo.ts";
import { createSnapshotCache, snapshotDirectory } from "../packages/lernie/src/git/snapshot.ts";
import { appears, createInstallation, findAgent, peakMiB } from "./installation.ts";
import { median } from "./measure.ts";

export interface ScanFigures {
	/** The first snapshot, which reads and writes every file. */
	readonly firstMs: number;
	/** One that finds every file as it was. Median. */
	readonly unchangedMs: number;
	/** One that finds one file changed. Median. */
	readonly changedMs: number;
	/** The first of a drive over a record that has every file: all are read, none is written. */
	readonly coldMs: number;
	/** The bare act: listing the directories and one `lstat` a file. Median. */
	readonly bareMs: number;
}

const DIRECTORY = 100;
/** What changed longer ago is known by its status (racy otherwise). */
const SETTLED_MS = 150;
const TIMES = 7;

const fill = (dir: string, files: number): readonly string[] => {
	const directories: string[] = [];
	for (let file = 0; file < files; file += 1) {
		const directory = join(dir, `d${Math.floor(file / DIRECTORY) % 20}`, `e${Math.floor(file / DIRECTORY)}`);
		if (file % DIRECTORY === 0) {
			mkdirSync(directory, { recursive: true });
			directories.push(directory);
		}
		writeFileSync(join(directory, `file-${file}.ts`), `export const value${file} = ${file};\n`.repeat(3 + (file % 20)));
	}
	return directories;
};

const timed = async (work: () => void | Promise<void>): Promise<number> => {
	const from = performance.now();
	await work();
	return performance.now() - from;
};

const repeat = async (work: () => void | Promise<void>): Promise<number> => {
	const times: number[] = [];
	for (let time = 0; time < TIMES; time += 1) times.push(await timed(work));
	return median(times);
};

/** What recording a directory of `files` files costs, by what was done to it since the last time. */
export const measureScan = async (files: number): Promise<ScanFigures> => {
	const root = mkdtempSync(join(tmpdir(), "lernie-bench-"));
	const [dir, gitDir] = [join(root, "agent"), join(root, "repo.git")];
	try {
		const directories = fill(dir, files);
		await initRepo(gitDir);
		const repo = openRepo(gitDir);
		const snapshot = async (cache: ReturnType<typeof createSnapshotCache>): Promise<void> => {
			const batch = repo.batch();
			batch.tree((await snapshotDirectory({ dir, reserved: [], batch, cache, gitDir })).entries);
			await batch.flush();
		};
		const cache = createSnapshotCache();
		await sleep(SETTLED_MS);
		const firstMs = await timed(() => snapshot(cache));
		const unchangedMs = await repeat(() => snapshot(cache));
		let change = 0;
		const changedMs = await repeat(async () => {
			change += 1;
			utimesSync(join(directories[0] ?? "", "file-0.ts"), change, change);
			await snapshot(cache);
		});
		const bareMs = await repeat(() => {
			for (const directory of directories)
				for (const name of readdirSync(directory)) lstatSync(join(directory, name), { bigint: true });
		});
		const coldMs = await timed(() => snapshot(createSnapshotCache()));
		await repo.close();
		return { firstMs, unchangedMs, changedMs, coldMs, bareMs };
	} finally {
		rmSync(root, { recursive: true, force: true });
	}
};

/** The most memory, in MiB, of a driver whose agent made `thousands` thousand files and changed one of them in the next step. */
export const measureScanMemory = async (thousands: number): Promise<number> => {
	const make = `for d in $(seq ${thousands}); do mkdir d$d; seq -f "$d of %.0f" 1000 | (cd d$d && split -l 1 -a 3 -); done`;
	const call = (command: string): unknown => ({ tools: [{ name: "bash", input: { command } }] });
	const bench = createInstallation({ calls: [call(make), call("echo x > d1/xaaa"), { stall: true }] });
	try {
		const child = bench.start("run", "bench");
		await appears(join(bench.workspace, "steps", await findAgent(bench), "003/response.json"));
		return peakMiB(child.pid) ?? Number.NaN;
	} finally {
		await bench.close();
	}
};
