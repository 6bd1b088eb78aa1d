import { closeSync, mkdirSync, openSync } from "node:fs";
import { ENV } from "@lernie/contract";
import { startDetached } from "../process/detach.ts";
import type { Effects } from "../workspace/effects.ts";
import { inboxDirectory, type Layout, stepsDirectory } from "../workspace/layout.ts";
import { isLeaseHeld } from "../workspace/lease.ts";
import { driverLogPath } from "../workspace/steps.ts";

/** Starts a drive of an agent that outlives this process; its stderr goes to `driver.log` (`spec/core.md` §14.3). */
const launchDrive = async (layout: Layout, agent: string, effects: Effects): Promise<void> => {
	mkdirSync(stepsDirectory(layout, agent), { recursive: true });
	const stderr = openSync(driverLogPath(layout, agent), "a");
	try {
		await startDetached({
			program: effects.self.program,
			args: [...effects.self.args, "advance", "-w", layout.root, agent],
			cwd: layout.root,
			env: {
				...effects.env,
				[ENV.convRepo]: undefined,
				[ENV.convBranch]: undefined,
				[ENV.crashAt]: undefined,
				[ENV.call]: undefined,
			},
			stderr,
		});
	} finally {
		closeSync(stderr);
	}
};

/**
 * Makes sure somebody will look at an agent's inbox: whoever drives it does so when it ends, else a drive is started
 * (`spec/core.md` §14.2). The deposit comes before. Answers whether a drive was started.
 */
export const wake = async (layout: Layout, agent: string, effects: Effects): Promise<boolean> => {
	if (await isLeaseHeld(inboxDirectory(layout, agent))) return false;
	await launchDrive(layout, agent, effects);
	return true;
};
