import { expect } from "vitest";
import type { Workspace } from "./workspace.ts";

/** Leaves a message as `lernie message` does, but nobody is woken for it: the sender is killed right after its deposit. */
export const leaveMail = async (ws: Workspace, agent: string, text: string): Promise<void> => {
	const sent = await ws.in(["message", agent, text], { env: { LERNIE_CRASH_AT: "deposit.written" } });
	expect(sent.signal, sent.stderr).toBe("SIGKILL");
};

/** What a person or an agent wrote, in the order of the transcript, without the front matter. */
export const messagesOf = (ws: Workspace, agent: string): readonly string[] =>
	ws
		.entries(agent)
		.filter(({ file }) => file.endsWith(".md"))
		.map(({ text }) => text.slice(text.indexOf("\n---\n") + 5));
