import { agentRef, ENV, LernieError } from "@lernie/contract";
import type { Repo } from "../git/repo.ts";
import { findAgent } from "../workspace/address.ts";
import type { Effects } from "../workspace/effects.ts";
import { isAgentId } from "../workspace/ids.ts";
import { deposit, PERSON } from "../workspace/inbox.ts";
import type { Layout } from "../workspace/layout.ts";
import { wake } from "./launch.ts";

export interface Message {
	/** Id, name or id prefix of the agent it is for. */
	readonly to: string;
	/** `user`, or the id of the agent that sends it; never taken from model input. */
	readonly sender: string;
	readonly body: string;
}

export type Sent = { readonly ok: true } | { readonly ok: false; readonly why: string };

export interface Mailer {
	readonly layout: Layout;
	readonly repo: Repo;
	readonly effects: Effects;
}

/** Deposits a message and wakes its recipient; throws where there is no such agent (`spec/core.md` §12.1). */
export const mail = async (mailer: Mailer, message: Message): Promise<{ agent: string; started: boolean }> => {
	const { sender } = message;
	// It becomes a file's name and a line of front matter.
	if (sender !== PERSON && !isAgentId(sender))
		throw new LernieError("ARGUMENT", `${ENV.convBranch}: ${JSON.stringify(sender)} is no agent's id. Unset it`, {
			sender,
		});
	if (sender !== PERSON && (await mailer.repo.resolve(agentRef(sender))) === undefined)
		throw new LernieError("ARGUMENT", `${ENV.convBranch}: there is no agent ${sender} here. Unset it`, { sender });
	const agent = await findAgent(mailer.repo, message.to);
	deposit(mailer.layout, { agent, sender: message.sender, body: message.body }, mailer.effects);
	return { agent, started: await wake(mailer.layout, agent, mailer.effects) };
};

/** `mail` for a tool: a refusal is an answer to the model, not a fault of the drive. */
export const sendMessage = async (mailer: Mailer, message: Message): Promise<Sent> => {
	try {
		await mail(mailer, message);
		return { ok: true };
	} catch (thrown) {
		if (thrown instanceof LernieError && (thrown.code === "AGENT_UNKNOWN" || thrown.code === "ADDRESS"))
			return { ok: false, why: thrown.message };
		throw thrown;
	}
};
