import { join } from "node:path";
import { lengthen } from "./history.ts";
import { appears, createInstallation, type Installation, peakMiB, processorMsOf, runAgent } from "./installation.ts";
import { median } from "./measure.ts";

export interface ResumeFigures {
	/** From the start of the process to a whole `request.json` on disk. Median. */
	readonly ms: number;
	/** Processor time of the process until then. Median. */
	readonly processorMs: number;
	/** The most memory that process had until then. */
	readonly peakMiB: number;
}

const STALLED = [{ stall: true }];

/** One `lernie advance` up to the moment its model call is on record, the `step`-th of the agent. */
const resumeOnce = async ({ start, workspace }: Installation, agent: string, step: number): Promise<ResumeFigures> => {
	const from = performance.now();
	const child = start("advance", agent);
	// The record of the answer is opened once the request is written and closed.
	await appears(join(workspace, "steps", agent, String(step).padStart(3, "0"), "response.json"));
	const ms = performance.now() - from;
	const figures = { ms, processorMs: processorMsOf(child.pid), peakMiB: peakMiB(child.pid) ?? Number.NaN };
	const closed = new Promise((resolve) => child.once("close", resolve));
	child.kill("SIGKILL");
	await closed;
	return figures;
};

/** A cold `lernie advance` of an agent with `entries` transcript entries, an even number, to its first request (DESIGN §10). */
export const measureResume = async (entries: number, times = 5): Promise<ResumeFigures> => {
	const bench = createInstallation({ calls: [{ say: "hello" }] });
	try {
		const agent = runAgent(bench, 0);
		lengthen(bench, agent, entries);
		bench.script(STALLED);
		const runs: ResumeFigures[] = [];
		for (let step = 2; runs.length < times; step += 1) runs.push(await resumeOnce(bench, agent, step));
		return {
			ms: median(runs.map(({ ms }) => ms)),
			processorMs: median(runs.map((run) => run.processorMs)),
			peakMiB: Math.max(...runs.map((run) => run.peakMiB)),
		};
	} finally {
		await bench.close();
	}
};
