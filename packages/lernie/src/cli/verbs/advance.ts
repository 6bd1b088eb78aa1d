import type { ExitCode } from "@lernie/contract";
import { findAgent } from "../../workspace/address.ts";
import { driveAndReport } from "../drive-end.ts";
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
			return driveAndReport(context, { agent, oneHop: flags.hop === true }, world.output, render);
		},
		{ emit: render, stop: stopOnSignals() },
	);
};
