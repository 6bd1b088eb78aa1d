import { ENV, sha256Hex } from "@lernie/contract";
import { childEnvironment, type Environment } from "../process/environment.ts";

const WORKSPACE_DIGITS = 12;

/** What `LERNIE_CALL` begins with for every call of an agent. */
export const agentCallPrefix = (workspace: string, agent: string): string =>
	`${sha256Hex(workspace).slice(0, WORKSPACE_DIGITS)}/${agent}/`;

/** What `LERNIE_CALL` begins with for every call of one step (CONTRACTS §7); the rest is the call's directory name. */
export const callEnvironmentPrefix = (workspace: string, agent: string, step: string): string =>
	`${agentCallPrefix(workspace, agent)}${step}/`;

export interface CallPlace {
	readonly workspace: string;
	readonly agent: string;
	readonly step: string;
	readonly directory: string;
}

/** The environment of a tool (CONTRACTS §5): the closed list, who calls, and the mark by which recovery finds its group. */
export const toolEnvironment = (
	env: Environment,
	names: readonly string[],
	{ workspace, agent, step, directory }: CallPlace,
): Record<string, string> =>
	childEnvironment(env, {
		names,
		values: {
			[ENV.convRepo]: workspace,
			[ENV.convBranch]: agent,
			[ENV.call]: `${callEnvironmentPrefix(workspace, agent, step)}${directory}`,
		},
	});
