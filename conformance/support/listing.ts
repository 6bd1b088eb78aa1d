import type { Workspace } from "./workspace.ts";

interface Listed {
	readonly id: string;
	readonly state: string;
	readonly pending_mail: number;
	readonly last_error: { readonly code: string } | null;
}

export const listAgents = async (ws: Workspace): Promise<readonly Listed[]> =>
	JSON.parse((await ws.in(["--json", "ls"])).stdout) as readonly Listed[];

/** The one agent of a workspace. */
export const onlyAgent = async (ws: Workspace): Promise<string> => {
	const [agent, ...others] = await listAgents(ws);
	if (agent === undefined || others.length > 0) throw new Error("there is not exactly one agent");
	return agent.id;
};
