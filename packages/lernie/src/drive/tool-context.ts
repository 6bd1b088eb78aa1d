import { markRef } from "@lernie/contract";
import type { LoadedConfig } from "../config/load.ts";
import type { ToolContext } from "../tools/execute.ts";
import { agentDirectory, isDirectory } from "../workspace/layout.ts";
import { readCwd } from "../workspace/marks.ts";
import { stepDirectory } from "../workspace/steps.ts";
import { sendMessage } from "./message.ts";
import { confirmOwner, transact } from "./owner.ts";
import type { Session } from "./session.ts";

/** Where an agent works: the directory it was moved to while that is one, else its own (`spec/tools.md` §7.1). */
const workingDirectory = async (session: Pick<Session, "repo" | "layout" | "agent">): Promise<string> => {
	const moved = await readCwd(session.repo, session.agent);
	return moved !== undefined && isDirectory(moved) ? moved : agentDirectory(session.layout, session.agent);
};

/** Everything the executor is told about the call's surroundings, read from disk for this call. */
export const toolContext = async (
	session: Session,
	config: LoadedConfig,
	step: { readonly number: number; readonly name: string },
): Promise<ToolContext> => {
	const { layout, agent, effects, repo } = session;
	return {
		workspace: layout.root,
		agent,
		step: step.name,
		stepDirectory: stepDirectory(layout, agent, step.number),
		cwd: await workingDirectory(session),
		env: effects.env,
		toolEnv: config.workflow.toolEnv,
		bound: config.workflow.toolOutput,
		timeoutSeconds: config.workflow.toolTimeoutSeconds,
		graceSeconds: config.workflow.toolGraceSeconds,
		effects,
		stop: session.stop,
		confirmStart: () => confirmOwner(session),
		services: {
			setCwd: async (path) => {
				const batch = repo.batch();
				const oid = batch.blob(path);
				await batch.flush();
				await transact(session, [{ kind: "set", ref: markRef("cwd", agent), oid }]);
			},
			sendMessage: (to, body) => sendMessage(session, { to, sender: agent, body }),
		},
		...(session.host === undefined ? {} : { host: session.host }),
	};
};
