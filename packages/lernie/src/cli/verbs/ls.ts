import { EXIT, type ExitCode } from "@lernie/contract";
import { listStatus } from "../../drive/status.ts";
import { printDocument } from "../output.ts";
import { excerpt, table } from "../printable.ts";
import { inWorkspace, type World } from "../world.ts";

/** `ls`: every agent of the workspace and the state it is in (CONTRACTS §10). */
export const ls = async (world: World): Promise<ExitCode> =>
	inWorkspace(world, async (context) => {
		const agents = await listStatus(context);
		const rows = agents.map((agent) => {
			const why = agent.held ?? agent.last_error?.message ?? "";
			const mail = agent.pending_mail === 0 ? "" : `${agent.pending_mail} waiting`;
			return [agent.id, agent.name, agent.state, String(agent.entries), mail, excerpt(why, 80)];
		});
		const text = rows.length === 0 ? "" : table([["AGENT", "NAME", "STATE", "ENTRIES", "MAIL", "WHY"], ...rows]);
		if (rows.length === 0 && !world.output.json) world.output.say("no agents yet: `lernie run <text>` starts one");
		printDocument(world.output, agents, text);
		return EXIT.done;
	});
