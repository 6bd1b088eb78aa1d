import { rmSync } from "node:fs";
import { until } from "./place.ts";
import { agentDirectory, directoryListing, type Listing } from "./tree.ts";
import { leaveMail } from "./window.ts";
import type { Workspace } from "./workspace.ts";

/** What the commit of a result names as left out: path as it is in the trailer, and why. */
export const leftOut = (ws: Workspace, commit: string): Readonly<Record<string, string>> =>
	Object.fromEntries(
		ws
			.git("log", "-1", "--format=%(trailers:key=Lernie-Unrecorded,valueonly)", commit)
			.split("\n")
			.filter((line) => line !== "")
			.map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)]),
	);

/** Throws an agent's directory away, wakes the agent, and answers what it then has: the record put back. */
export const thrownAway = async (ws: Workspace, agent: string): Promise<Listing> => {
	const directory = agentDirectory(ws, agent);
	rmSync(directory, { recursive: true });
	leaveMail(ws, agent, "more");
	const { code, stderr } = await ws.advance(agent);
	if (code !== 0) throw new Error(stderr);
	await until("the directory is back", () => ws.exists(`ws/agents/${agent}`));
	return directoryListing(directory);
};
