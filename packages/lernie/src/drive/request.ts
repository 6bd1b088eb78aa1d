import { LernieError, type ModelRequest, type ToolDefinition } from "@lernie/contract";
import type { LoadedConfig } from "../config/load.ts";
import type { Repo } from "../git/repo.ts";
import type { Oid } from "../git/types.ts";
import { composeTools } from "../tools/toolset.ts";
import { describeFromTree } from "./describe.ts";
import type { Session } from "./session.ts";
import type { TranscriptState } from "./transcript-state.ts";

const readText = async (repo: Repo, tip: Oid, path: string): Promise<string | undefined> => {
	const entry = await repo.find(tip, path);
	return entry === undefined ? undefined : (await repo.blob(entry.oid)).toString("utf8");
};

/** The system slot: the goal, the name where there is one, the instructions of the role (`spec/tools.md` §20.1). */
const systemText = (goal: string, name: string, soul: string): string =>
	`<goal>\n${goal}\n</goal>\n\n${name === "" ? "" : `Your name is ${name}.\n\n`}${soul}`;

const describe = (session: Session, tip: Oid, tree: Oid, tool: string): Promise<ToolDefinition | undefined> => {
	const key = `${tree} ${tool}`;
	const known = session.descriptions.get(key) ?? describeFromTree(session.repo, tip, tool);
	session.descriptions.set(key, known);
	return known;
};

/** The request of the next model call, from the commit alone and the configuration that governs it (`spec/core.md` §9.5). */
export const assembleRequest = async (
	session: Session,
	tip: Oid,
	state: TranscriptState,
	config: LoadedConfig,
): Promise<ModelRequest> => {
	const { repo, host } = session;
	const goal = await readText(repo, tip, "goal.md");
	if (goal === undefined)
		throw new LernieError("TRANSCRIPT", `agent ${session.agent}: its record has no goal.md`, { agent: session.agent });
	const name = (await readText(repo, tip, "name")) ?? "";
	const { role } = config;
	const tree = (await repo.find(tip, "descriptions"))?.oid ?? "";
	return {
		model: role.model,
		system: systemText(goal, name.trimEnd(), role.soul),
		messages: state.messages,
		tools: await composeTools({
			injected: host?.definitions() ?? [],
			granted: role.tools,
			historyNames: state.toolNames,
			describe: (tool) => describe(session, tip, tree, tool),
		}),
		max_tokens: role.maxTokens,
		...(role.temperature === undefined ? {} : { temperature: role.temperature }),
		...(role.reasoning === undefined ? {} : { reasoning: role.reasoning }),
	};
};
