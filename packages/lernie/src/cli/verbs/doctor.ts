import { EXIT, type ExitCode } from "@lernie/contract";
import { CRASH_SITES } from "../../workspace/crash.ts";
import { listDeposits } from "../../workspace/inbox.ts";
import { listInboxes } from "../../workspace/inboxes.ts";
import { inboxDirectory } from "../../workspace/layout.ts";
import { printDocument } from "../output.ts";
import { inWorkspace, type World } from "../world.ts";

/** `doctor`: the crash sites of this build, or what lies in the workspace that no agent owns. */
export const doctor = async (world: World, flags: { readonly crashSites?: boolean }): Promise<ExitCode> => {
	if (flags.crashSites === true) {
		printDocument(world.output, { crash_sites: CRASH_SITES }, CRASH_SITES.join("\n"));
		return EXIT.done;
	}
	return inWorkspace(world, async ({ layout, repo }) => {
		const { orphans } = await listInboxes(layout, repo);
		const lost = orphans.map((id) => ({ id, messages: listDeposits(inboxDirectory(layout, id)).length }));
		const lines = lost.map(
			({ id, messages }) => `inbox/${id}: no agent of that id; ${messages} message(s) nobody will read`,
		);
		printDocument(world.output, { inboxes_without_agent: lost }, lines.join("\n"));
		if (lost.length === 0) world.output.say("every inbox belongs to an agent");
		return EXIT.done;
	});
};
