import { readdirSync } from "node:fs";
import { errnoOf } from "@lernie/contract";
import type { Repo } from "../git/repo.ts";
import { type AgentRef, listAgents } from "./address.ts";
import { inboxDirectory, type Layout } from "./layout.ts";
import { isLeaseHeld } from "./lease.ts";

const directoriesOf = (path: string): string[] => {
	try {
		return readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []));
	} catch (thrown) {
		if (errnoOf(thrown) === "ENOENT") return [];
		throw thrown;
	}
};

/** The inboxes of a workspace: those of its agents, and those that no agent owns. */
export interface Inboxes {
	readonly agents: readonly AgentRef[];
	/** Ids, in order. */
	readonly orphans: readonly string[];
}

/**
 * Sorts the inboxes by whether an agent owns them. An agent in the middle of its founding has an inbox and no ref yet, and
 * holds the lease: that one is neither (CONTRACTS §7).
 */
export const listInboxes = async (layout: Layout, repo: Repo): Promise<Inboxes> => {
	const inboxes = directoriesOf(layout.inbox).sort();
	const known = new Set((await listAgents(repo)).map(({ id }) => id));
	const free: string[] = [];
	for (const id of inboxes) if (!known.has(id) && !(await isLeaseHeld(inboxDirectory(layout, id)))) free.push(id);
	// After the look at the leases: a founding that came to its end between the two has made its ref.
	const agents = await listAgents(repo);
	const [there, owners] = [new Set(inboxes), new Set(agents.map(({ id }) => id))];
	return { agents: agents.filter(({ id }) => there.has(id)), orphans: free.filter((id) => !owners.has(id)) };
};
