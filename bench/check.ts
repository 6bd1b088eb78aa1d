import { fileURLToPath } from "node:url";
import { spawnMs } from "./measure.ts";
import { measureSteps } from "./steps.ts";

/** The budgets of DESIGN §10 that hold on any machine: counts, and ratios to bare acts of the same run. Exit code 1 over one. */
const launcher = fileURLToPath(new URL("../packages/lernie/bin/lernie.cjs", import.meta.url));
const TRIES = 3;

/** A ratio is measured again while it is over: a busy neighbour makes it worse, nothing makes it better. */
const least = (measure: () => number, budget: number): number => {
	let best = Number.POSITIVE_INFINITY;
	for (let attempt = 0; attempt < TRIES && best > budget; attempt += 1) best = Math.min(best, measure());
	return best;
};

const versionRatio = (): number => {
	const bare = spawnMs(process.execPath, ["-e", "0"], 10);
	return spawnMs(process.execPath, [launcher, "--version"], 10) / bare;
};

const steps = await measureSteps([200, 700]);
const last = steps.at(-1);
const first = steps[0];
if (first === undefined || last === undefined) throw new Error("nothing was measured");
const rows: readonly (readonly [string, number, number])[] = [
	["lernie --version, times node -e 0", least(versionRatio, 2.5), 2.5],
	["objects of a step", last.objects, 10],
	["KiB of a step's objects", last.bytes / 1024, 24],
	["fsyncs of a step's objects", last.fsyncs, 10],
	["a step at 700 entries, times one at 200", last.medianMs / first.medianMs, 2],
];
for (const [what, value, budget] of rows)
	process.stdout.write(`${value <= budget ? "ok  " : "OVER"} ${what}: ${value.toFixed(1)} (budget ${budget})\n`);
process.exitCode = rows.every(([, value, budget]) => value <= budget) ? 0 : 1;
