import { until } from "./place.ts";
import { isStopped } from "./processes.ts";
import type { Workspace } from "./workspace.ts";

/** Makes a crash point stop its process instead of killing it, so that another can take its agent over meanwhile. */
const STOP = `const kill = process.kill;
process.kill = (pid, signal) => kill.call(process, pid, signal === "SIGKILL" && pid === process.pid ? "SIGSTOP" : signal);
`;

export interface Paused {
	readonly pid: number;
	/** Left for it until it goes on. */
	readonly signal: (signal: NodeJS.Signals) => void;
	readonly resume: () => Promise<{ readonly code: number | null; readonly stderr: string }>;
}

/** Starts `lernie` and waits until it stands still at a crash site. */
export const pauseAt = async (ws: Workspace, site: string, args: readonly string[]): Promise<Paused> => {
	const hook = ws.write("stop.cjs", STOP);
	const env = { LERNIE_SCRIPT: ws.path("script.yaml"), LERNIE_CRASH_AT: site, NODE_OPTIONS: `--require ${hook}` };
	const started = ws.start(["-w", ws.dir, ...args], { env });
	const { pid } = started.process;
	if (pid === undefined) throw new Error("it did not start");
	await until(`it stops at ${site}`, () => isStopped(pid));
	return {
		pid,
		signal: (signal) => void process.kill(pid, signal),
		resume: async () => {
			process.kill(pid, "SIGCONT");
			return started.ended;
		},
	};
};
