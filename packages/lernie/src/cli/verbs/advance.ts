import { type ExitCode, exitCodeOf, LernieError } from "@lernie/contract";
import { drive } from "../../drive/drive.ts";
import { findAgent } from "../../workspace/address.ts";
import { endMessage } from "../drive-end.ts";
import { createRenderer } from "../render.ts";
import { inWorkspace, type World } from "../world.ts";

/** `advance <agent>`: drives an agent until it rests, or with `--hop` one hop (`spec/core.md` §23). */
export const advance = async (world: World, address: string, flags: { readonly hop?: boolean }): Promise<ExitCode> => {
	const render = createRenderer(world.output, false);
	return inWorkspace(
		world,
		async (context) => {
			const agent = await findAgent(context.repo, address);
			try {
				const end = await drive(context, { agent, oneHop: flags.hop === true });
				render({ type: "end", state: end.state, exit: end.exit });
				const message = endMessage(agent, end);
				if (message !== undefined) world.output.say(message);
				return end.exit;
			} catch (thrown) {
				if (thrown instanceof LernieError) render({ type: "end", state: "failed", exit: exitCodeOf(thrown) });
				throw thrown;
			}
		},
		render,
	);
};
