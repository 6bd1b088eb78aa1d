import { EXIT, type ExitCode } from "@lernie/contract";
import { scan as sweep } from "../../drive/scan.ts";
import { printDocument } from "../output.ts";
import { inWorkspace, type World } from "../world.ts";

/** `scan`: names agents that died unheard and wakes those whose mail was left lying (`spec/core.md` §25). */
export const scan = async (world: World): Promise<ExitCode> =>
	inWorkspace(world, async (context) => {
		const { silentDeaths, launched, orphanInboxes, faults } = await sweep(context);
		const ids = silentDeaths.length === 0 ? "" : ` (${silentDeaths.join(", ")})`;
		const line = [
			`silent deaths: ${silentDeaths.length}${ids}`,
			`drivers launched: ${launched.length}`,
			`inboxes with no agent branch: ${orphanInboxes.length}`,
		].join("; ");
		printDocument(world.output, { silent_deaths: silentDeaths, launched, orphan_inboxes: orphanInboxes }, line);
		for (const { agent, fault } of faults) world.output.say(`lernie scan: ${agent}: ${fault.message}`);
		return faults.length === 0 ? EXIT.done : EXIT.failure;
	});
