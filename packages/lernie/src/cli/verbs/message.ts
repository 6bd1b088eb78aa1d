import { agentRef, ENV, EXIT, type ExitCode, LernieError } from "@lernie/contract";
import { mail } from "../../drive/message.ts";
import { readLastEnd } from "../../drive/status.ts";
import { findAgent } from "../../workspace/address.ts";
import { PERSON } from "../../workspace/inbox.ts";
import { printDocument } from "../output.ts";
import { inWorkspace, textArgument, type World } from "../world.ts";

/** `message <agent> <text>`: deposits and wakes; done once the message is durable (`spec/core.md` §12.1). */
export const message = async (world: World, address: string, text: string): Promise<ExitCode> => {
	const { env } = world.effects;
	const body = await textArgument(text);
	if (body.trim() === "") throw new LernieError("ARGUMENT", "the text is empty: say what the agent is to be told");
	const sender = env[ENV.convBranch];
	return inWorkspace(world, async (context) => {
		const id = await findAgent(context.repo, address);
		const tip = (await context.repo.resolve(agentRef(id))) ?? "";
		const before = readLastEnd(context, { id, tip });
		const sent = await mail(context, { to: id, sender: sender === undefined || sender === "" ? PERSON : sender, body });
		if (before.failed && sent.started)
			world.output.say(
				`note: the last drive of ${id} failed: ${before.record?.message ?? "its model call ended in an error"}`,
			);
		if (!world.output.json)
			world.output.say(
				`left for ${sent.agent}, ${sent.started ? "which goes on in the background" : "which is being driven"}; see \`lernie log\``,
			);
		printDocument(world.output, { agent: sent.agent, started: sent.started }, "");
		return EXIT.done;
	});
};
