import { fileURLToPath } from "node:url";
import { measureConsults } from "./consult.ts";
import { measureFlood } from "./flood.ts";
import { measureHeld } from "./held.ts";
import { spawnMs, yardsticks } from "./measure.ts";
import { measureResume } from "./resume.ts";
import { measureScan, measureScanMemory } from "./scan.ts";
import { measureExternal, measureSteps } from "./steps.ts";

/** `npm run bench`: the budgets of DESIGN §10 that this build can be held to, as multiples of bare acts in the same run. */
const launcher = fileURLToPath(new URL("../packages/lernie/bin/lernie.cjs", import.meta.url));
const bare = yardsticks();
const times = (ms: number, unit: number): string => `${(ms / unit).toFixed(1)} x`;
const say = (line: string): boolean => process.stdout.write(`${line}\n`);

say(
	`bare: node -e 0 ${bare.nodeMs.toFixed(1)} ms, spawn ${bare.spawnMs.toFixed(2)} ms, fsynced write ${bare.fsyncMs.toFixed(2)} ms`,
);
const version = spawnMs(process.execPath, [launcher, "--version"]);
say(`lernie --version: ${version.toFixed(1)} ms = ${times(version, bare.nodeMs)} node -e 0 (budget 2.5 x)`);

// First, while this process is small: what a spawn costs grows with the memory of the one that spawns.
const external = await measureExternal();
say(
	`external call, record and commit included: ${external.toFixed(2)} ms, ${(external - bare.spawnMs).toFixed(2)} ms above a bare spawn (budget 8)`,
);
const { onceMs, serveMs } = await measureConsults();
say(
	`consult of a Node control: ${onceMs.toFixed(1)} ms once = ${times(onceMs, bare.nodeMs)} node -e 0, ` +
		`${serveMs.toFixed(2)} ms warm in serve = 1/${(onceMs / serveMs).toFixed(0)} of that`,
);
const sizes = process.argv.includes("--short") ? [200, 1000] : [200, 1000, 10_000];
const steps = await measureSteps(sizes);
for (const step of steps)
	say(
		`durable step at ${step.entries} entries: ${step.medianMs.toFixed(2)} ms = ${times(step.medianMs, bare.fsyncMs)} a fsynced write; ` +
			`${step.objects} objects (budget 10), ${(step.bytes / 1024).toFixed(1)} KiB (24), ${step.fsyncs} fsyncs of objects`,
	);
const [first, last] = [steps.find((step) => step.entries === 1000), steps.at(-1)];
if (first !== undefined && last !== undefined && first !== last)
	say(
		`growth from ${first.entries} to ${last.entries} entries: ${times(last.medianMs, first.medianMs)} (budget 1.2 x)`,
	);

const resume = await measureResume(10_000);
say(
	`resume of 10,000 entries to the first request: ${resume.ms.toFixed(0)} ms (budget 300) = ${times(resume.ms, bare.nodeMs)} node -e 0, ` +
		`${times(resume.processorMs, bare.nodeProcessorMs)} its processor time; ${resume.peakMiB.toFixed(0)} MiB (150)`,
);
const held = await measureHeld(1000);
say(
	`1,000 held agents: ${held.processes} processes (budget 0); lernie held ${held.textMs.toFixed(0)} ms, with --json ${held.jsonMs.toFixed(0)} ms (500) = ` +
		`${times(held.textMs, bare.nodeMs)} and ${times(held.jsonMs, bare.nodeMs)} node -e 0, ${times(held.processorMs, bare.nodeProcessorMs)} its processor time`,
);
say(`driver under a flood of 2 GiB: ${(await measureFlood(2 ** 31)).toFixed(0)} MiB (budget 150)`);

const scan = await measureScan(35_000);
say(
	`scan of 35,000 unchanged files: ${scan.unchangedMs.toFixed(0)} ms = ${times(scan.unchangedMs, scan.bareMs)} a bare lstat of each (budget 3); ` +
		`one changed ${scan.changedMs.toFixed(0)} ms, at the start of a drive ${scan.coldMs.toFixed(0)} ms, all new ${scan.firstMs.toFixed(0)} ms; ` +
		`driver ${(await measureScanMemory(35)).toFixed(0)} MiB`,
);
