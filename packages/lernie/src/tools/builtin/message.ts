import { readStrings } from "./input.ts";
import { type Builtin, failure, success } from "./types.ts";

/** `{agent, content}`: deposits a message; the sender is the caller and never comes from the input (`spec/tools.md` §10.4). */
export const message: Builtin = async (input, { services }) => {
	const parsed = readStrings(input, ["agent", "content"]);
	if (!parsed.ok) return failure("message", parsed.why);
	const { agent, content } = parsed.values;
	const sent = await services.sendMessage(agent, content);
	return sent.ok ? success(Buffer.from(JSON.stringify({ status: "deposited" }))) : failure("message", sent.why);
};
