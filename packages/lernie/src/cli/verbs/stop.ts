import { EXIT, type ExitCode } from "@lernie/contract";
import { type StopOutcome, stopAgent } from "../../drive/stop.ts";
import { findAgent } from "../../workspace/address.ts";
import { printDocument } from "../output.ts";
import { inWorkspace, type World } from "../world.ts";

const SAID: Readonly<Record<StopOutcome, string>> = {
	idle: "nothing drives it",
	stopped: "stopped",
	killed: "did not stop in time and was killed, with what it had started",
};

/** `stop <agent>`: ends the process that drives it, if one does (CONTRACTS §5). */
export const stop = async (world: World, address: string): Promise<ExitCode> =>
	inWorkspace(world, async (context) => {
		const agent = await findAgent(context.repo, address);
		const outcome = await stopAgent(context, agent);
		if (world.output.json) printDocument(world.output, { id: agent, outcome }, "");
		else world.output.say(`${agent}: ${SAID[outcome]}`);
		return EXIT.done;
	});
