import { fileURLToPath } from "node:url";
import { measureFlood } from "./flood.ts";
import { measureHeld } from "./held.ts";
import { processorMs, spawnMs } from "./measure.ts";
import { measureResume } from "./resume.ts";
import { measureScan } from "./scan.ts";
import { measureSteps } from "./steps.ts";

/** The budgets of DESIGN §10 that hold on any machine: counts, memory, and ratios to bare acts of the same run. Exit code 1 over one. */
const launcher = fileURLToPath(new URL("../packages/lernie/bin/lernie.cjs", import.meta.url));
const TRIES = 3;

/** A ratio is measured again while it is over: a busy neighbour makes it worse, nothing makes it better. */
const least = async (budget: number, measure: () => number | Promise<number>): Promise<number> => {
	let best = Number.POSITIVE_INFINITY;
	for (let attempt = 0; attempt < TRIES && best > budget; attempt += 1) best = Math.min(best, await measure());
	return best;
};

const versionRatio = (): number => {
	const bare = spawnMs(process.execPath, ["-e", "0"], 10);
	return spawnMs(process.execPath, [launcher, "--version"], 10) / bare;
};

const bareProcessorMs = (): number => processorMs(process.execPath, ["-e", "0"]);

const MEMORY = 150;
const peaks: number[] = [];
const resumeRatio = async (): Promise<number> => {
	const resume = await measureResume(10_000, 3);
	peaks.push(resume.peakMiB);
	return resume.processorMs / bareProcessorMs();
};
let processes = 0;
const heldRatio = async (): Promise<number> => {
	const held = await measureHeld(200, 1);
	processes = held.processes;
	return held.processorMs / bareProcessorMs();
};

const scanRatio = async (): Promise<number> => {
	const { unchangedMs, bareMs } = await measureScan(3500);
	return unchangedMs / bareMs;
};

const steps = await measureSteps([200, 700]);
const last = steps.at(-1);
const first = steps[0];
if (first === undefined || last === undefined) throw new Error("nothing was measured");
const rows: readonly (readonly [string, number, number])[] = [
	["lernie --version, times node -e 0", await least(2.5, versionRatio), 2.5],
	["objects of a step", last.objects, 10],
	["KiB of a step's objects", last.bytes / 1024, 24],
	["fsyncs of a step's objects", last.fsyncs, 10],
	["a step at 700 entries, times one at 200", last.medianMs / first.medianMs, 2],
	["processor time of a resume of 10,000 entries, times node -e 0", await least(20, resumeRatio), 20],
	["MiB of that resume", Math.max(...peaks), MEMORY],
	["processor time of lernie held with 200 held agents, times node -e 0", await least(12, heldRatio), 12],
	["processes of 200 held agents", processes, 0],
	["a scan of 3,500 unchanged files, times a bare lstat of each", await least(3, scanRatio), 3],
	["MiB of a driver under a flood of 256 MiB", await measureFlood(2 ** 28), MEMORY],
];
for (const [what, value, budget] of rows)
	process.stdout.write(`${value <= budget ? "ok  " : "OVER"} ${what}: ${value.toFixed(1)} (budget ${budget})\n`);
process.exitCode = rows.every(([, value, budget]) => value <= budget) ? 0 : 1;
