import { realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ENV, LernieError } from "@lernie/contract";

/** The directories of one workspace, absolute (DESIGN §4). */
export interface Layout {
	readonly root: string;
	readonly repo: string;
	readonly agents: string;
	readonly inbox: string;
	readonly steps: string;
	readonly work: string;
	readonly approved: string;
}

export const layoutOf = (root: string): Layout => ({
	root,
	repo: join(root, "repo.git"),
	agents: join(root, "agents"),
	inbox: join(root, "inbox"),
	steps: join(root, "steps"),
	work: join(root, "work"),
	approved: join(root, "approved"),
});

export const agentDirectory = (layout: Layout, agent: string): string => join(layout.agents, agent);
export const inboxDirectory = (layout: Layout, agent: string): string => join(layout.inbox, agent);
export const stepsDirectory = (layout: Layout, agent: string): string => join(layout.steps, agent);

export const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

const isWorkspace = (path: string): boolean => isDirectory(join(path, "repo.git"));

const enclosing = (start: string): string | undefined => {
	for (let at = start; ; at = dirname(at)) {
		if (isWorkspace(at)) return at;
		if (dirname(at) === at) return undefined;
	}
};

const HOW = "Make one with `lernie new`, or name one with -w <dir> or LERNIE_WORKSPACE";

/**
 * Finds the workspace a verb works on: `given` (the flag), else `LERNIE_WORKSPACE`, else the one `cwd` lies in
 * (DESIGN §6). Throws `NO_WORKSPACE` and touches nothing.
 */
export const findWorkspace = (
	given: string | undefined,
	env: Readonly<Record<string, string | undefined>>,
	cwd: string,
): Layout => {
	const variable = env[ENV.workspace];
	const named = given ?? (variable === "" ? undefined : variable);
	if (named !== undefined) {
		const path = resolve(cwd, named);
		if (!isWorkspace(path))
			throw new LernieError("NO_WORKSPACE", `${path}: not a workspace (it has no repo.git). ${HOW}`, { path });
		return layoutOf(realpathSync(path));
	}
	const found = enclosing(realpathSync(cwd));
	if (found === undefined) throw new LernieError("NO_WORKSPACE", `${cwd}: not in a workspace. ${HOW}`, { path: cwd });
	return layoutOf(found);
};
