import { realpathSync } from "node:fs";
import { resolve } from "node:path";
import { EXIT, type ExitCode, LernieError } from "@lernie/contract";
import { found } from "../../drive/found.ts";
import { wake } from "../../drive/launch.ts";
import { readOwner } from "../../drive/owner.ts";
import type { DriveContext } from "../../drive/session.ts";
import type { Lease } from "../../workspace/lease.ts";
import { driveAndReport } from "../drive-end.ts";
import { modelFlag } from "../model-flag.ts";
import type { Output } from "../output.ts";
import { createRenderer } from "../render.ts";
import { stopOnSignals } from "../stop-signal.ts";
import { inWorkspace, textArgument, type World } from "../world.ts";

export interface RunFlags {
	readonly name?: string;
	readonly model?: string;
	readonly config: string;
	readonly cwd?: string;
	readonly here?: boolean;
	readonly maxSteps?: string;
	readonly detach?: boolean;
}

const stepsLimit = (given: string): string => {
	if (given !== "unlimited" && !/^[1-9]\d*$/.test(given))
		throw new LernieError("ARGUMENT", `--max-steps ${given}: not a positive number. Give one, or \`unlimited\``, {
			given,
		});
	return `steps=${given}`;
};

const BEGIN_MS = 5000;
const POLL_MS = 20;

/** Whether another process has begun to drive a new agent; waited for, so that a `stop` right after this finds it. */
const isTakenOver = async ({ repo, effects }: DriveContext, agent: string): Promise<boolean> => {
	const deadline = performance.now() + BEGIN_MS;
	while ((await readOwner(repo, agent))?.pid === process.pid) {
		if (performance.now() >= deadline) return false;
		await effects.sleep(POLL_MS);
	}
	return true;
};

/** Leaves a new agent to a driver of its own, which outlives this process and its terminal. */
const detach = async (context: DriveContext, agent: string, lease: Lease, output: Output): Promise<ExitCode> => {
	await lease.release();
	await wake(context.layout, agent, context.effects);
	if (!(await isTakenOver(context, agent)))
		output.say("its driver has not begun yet; `lernie ls` shows whether it does");
	// With --json the line of the agent has said it.
	if (!output.json) output.product(`${agent}\n`);
	return EXIT.done;
};

/** `run <text>`: founds an agent and drives it (DESIGN §6). */
export const run = async (world: World, text: string, flags: RunFlags): Promise<ExitCode> => {
	const { output } = world;
	if (flags.here === true && flags.cwd !== undefined)
		throw new LernieError("ARGUMENT", "--here and --cwd: give one of them, they both say where the agent works");
	const goal = await textArgument(text);
	if (goal.trim() === "") throw new LernieError("ARGUMENT", "the text is empty: say what the agent is to do");
	const cwd =
		flags.here === true ? realpathSync(world.cwd) : flags.cwd === undefined ? undefined : resolve(world.cwd, flags.cwd);
	if (flags.model !== undefined) modelFlag(flags.model);
	const founding = {
		goal,
		config: flags.config,
		limits: flags.maxSteps === undefined ? [] : [stepsLimit(flags.maxSteps)],
		...(flags.name === undefined ? {} : { name: flags.name }),
		...(flags.model === undefined ? {} : { model: flags.model }),
		...(cwd === undefined ? {} : { cwd }),
	};
	const render = createRenderer(output, true);
	return inWorkspace(
		world,
		async (context) => {
			const { agent, name, lease } = await found(context, founding);
			render({ type: "agent", id: agent, name });
			if (flags.detach === true) return detach(context, agent, lease, output);
			return driveAndReport(context, { agent, oneHop: false, lease }, output, render);
		},
		{ emit: render, stop: stopOnSignals() },
	);
};
