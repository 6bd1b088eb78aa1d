import { spawnSync } from "node:child_process";
import { closeSync, fsyncSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The middle value; milliseconds in, milliseconds out. */
export const median = (values: readonly number[]): number => {
	const sorted = [...values].sort((a, b) => a - b);
	return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
};

const time = (work: () => void): number => {
	const start = performance.now();
	work();
	return performance.now() - start;
};

const repeat = (times: number, work: () => void): number => median(Array.from({ length: times }, () => time(work)));

export const spawnMs = (program: string, args: readonly string[], times = 20): number =>
	repeat(times, () => {
		spawnSync(program, args, { stdio: "ignore" });
	});

const secondsOf = (text: string): number => {
	const [minutes = 0, seconds = 0] = text.replace("s", "").split("m").map(Number);
	return minutes * 60 + seconds;
};

/** Processor time of a program and of what it waited for. It depends less than time does on what else the machine does. Median. */
export const processorMs = (program: string, args: readonly string[], env = process.env, times = 10): number =>
	median(
		Array.from({ length: times }, () => {
			// The second line of `times` is about the children of the shell.
			const shell = ["-c", '"$@" > /dev/null 2>&1; times', "bash", program, ...args];
			const { stdout } = spawnSync("bash", shell, { env, encoding: "utf8" });
			const [user = "", system = ""] = (stdout.split("\n")[1] ?? "").split(" ");
			return (secondsOf(user) + secondsOf(system)) * 1000;
		}),
	);

/** A bare durable write: open, 4 KiB, fsync, close. The yardstick for everything that has to be on disk. */
export const fsyncedWriteMs = (times = 100): number => {
	const directory = mkdtempSync(join(tmpdir(), "lernie-bench-"));
	const block = Buffer.alloc(4096, 1);
	let file = 0;
	try {
		return repeat(times, () => {
			file += 1;
			const fd = openSync(join(directory, String(file)), "w");
			writeSync(fd, block);
			fsyncSync(fd);
			closeSync(fd);
		});
	} finally {
		rmSync(directory, { recursive: true, force: true });
	}
};

export interface Yardsticks {
	readonly nodeMs: number;
	/** Processor time of the same. */
	readonly nodeProcessorMs: number;
	readonly spawnMs: number;
	readonly fsyncMs: number;
}

/** What this machine needs for the bare acts, measured in the same run as everything that is held against them. */
export const yardsticks = (): Yardsticks => ({
	nodeMs: spawnMs(process.execPath, ["-e", "0"]),
	nodeProcessorMs: processorMs(process.execPath, ["-e", "0"]),
	spawnMs: spawnMs("/bin/true", [], 50),
	fsyncMs: fsyncedWriteMs(),
});
