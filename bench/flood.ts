import { statSync } from "node:fs";
import { join } from "node:path";
import { appears, createInstallation, findAgent, peakMiB } from "./installation.ts";

/**
 * The most memory, in MiB, that a driver had whose agent ran a command that writes `bytes` bytes to its output, up to the
 * moment that the result is committed and the next model call is made (DESIGN D12, §10).
 */
export const measureFlood = async (bytes: number): Promise<number> => {
	const flood = { name: "bash", input: { command: `head -c ${bytes} /dev/zero` } };
	const bench = createInstallation({ calls: [{ tools: [flood] }, { stall: true }] });
	try {
		const child = bench.start("run", "bench");
		const steps = join(bench.workspace, "steps", await findAgent(bench));
		await appears(join(steps, "002/response.json"));
		const peak = peakMiB(child.pid);
		const kept = statSync(join(steps, "001/tools/call_1/stdout")).size;
		if (peak === undefined || kept !== bytes) throw new Error(`of ${bytes} bytes ${kept} were kept`);
		return peak;
	} finally {
		await bench.close();
	}
};
