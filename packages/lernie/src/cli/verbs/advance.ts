import type { ExitCode } from "@lernie/contract";
import { findAgent } from "../../workspace/address.ts";
import { makeDirectory } from "../../workspace/durable.ts";
import { inboxDirectory } from "../../workspace/layout.ts";
import { acquireLease } from "../../workspace/lease.ts";
import { driveAndReport, reportDriven } from "../drive-end.ts";
import { createRenderer } from "../render.ts";
import { stopOnSignals } from "../stop-signal.ts";
import { inWorkspace, type World } from "../world.ts";

/** `advance <agent>`: drives an agent until it rests, or with `--hop` one hop (`spec/core.md` §23). */
export const advance = async (world: World, address: string, flags: { readonly hop?: boolean }): Promise<ExitCode> => {
	const render = createRenderer(world.output, false);
	return inWorkspace(
		world,
		async (context) => {
			const agent = await findAgent(context.repo, address);
			const inbox = inboxDirectory(context.layout, agent);
			makeDirectory(inbox);
			const lease = await acquireLease(inbox);
			if (lease === undefined) return reportDriven(context.layout.root, agent, world.output, render);
			return driveAndReport(context, { agent, oneHop: flags.hop === true, lease }, world.output, render);
		},
		{ emit: render, stop: stopOnSignals() },
	);
};
