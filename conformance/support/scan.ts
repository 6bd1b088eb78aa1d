import { expect } from "vitest";
import type { Workspace } from "./workspace.ts";

interface Report {
	readonly silent_deaths: readonly string[];
	readonly launched: readonly string[];
	readonly orphan_inboxes: readonly string[];
}

/** What `scan --json` says. */
export const scan = async (ws: Workspace, code = 0): Promise<Report> => {
	const ran = await ws.in(["scan", "--json"]);
	expect(ran.code, ran.stderr).toBe(code);
	return JSON.parse(ran.stdout) as Report;
};

/** The report on a workspace in which nothing is amiss. */
export const QUIET: Report = { silent_deaths: [], launched: [], orphan_inboxes: [] };

/** A script whose first call fails for good. */
export const FAILS = { calls: [{ attempts: [{ error: { status: 400 } }] }] };
