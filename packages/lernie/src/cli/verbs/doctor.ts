import { readdirSync } from "node:fs";
import { EXIT, type ExitCode, errnoOf } from "@lernie/contract";
import { listAgents } from "../../workspace/address.ts";
import { CRASH_SITES } from "../../workspace/crash.ts";
import { listDeposits } from "../../workspace/inbox.ts";
import { inboxDirectory } from "../../workspace/layout.ts";
import { printDocument } from "../output.ts";
import { inWorkspace, type World } from "../world.ts";

const inboxes = (path: string): readonly string[] => {
	try {
		return readdirSync(path).sort();
	} catch (thrown) {
		if (errnoOf(thrown) === "ENOENT") return [];
		throw thrown;
	}
};

/** `doctor`: the crash sites of this build, or what lies in the workspace that no agent owns. */
export const doctor = async (world: World, flags: { readonly crashSites?: boolean }): Promise<ExitCode> => {
	if (flags.crashSites === true) {
		printDocument(world.output, { crash_sites: CRASH_SITES }, CRASH_SITES.join("\n"));
		return EXIT.done;
	}
	return inWorkspace(world, async ({ layout, repo }) => {
		const agents = new Set((await listAgents(repo)).map(({ id }) => id));
		const lost = inboxes(layout.inbox)
			.filter((id) => !agents.has(id))
			.map((id) => ({ id, messages: listDeposits(inboxDirectory(layout, id)).length }));
		const lines = lost.map(
			({ id, messages }) => `inbox/${id}: no agent of that id; ${messages} message(s) nobody will read`,
		);
		printDocument(world.output, { inboxes_without_agent: lost }, lines.join("\n"));
		if (lost.length === 0) world.output.say("every inbox belongs to an agent");
		return EXIT.done;
	});
};
