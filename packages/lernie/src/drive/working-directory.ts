import { realpathSync } from "node:fs";
import { errnoOf, LernieError } from "@lernie/contract";
import { isWithin } from "../config/control-placement.ts";
import { agentDirectory, isDirectory, type Layout } from "../workspace/layout.ts";

/**
 * The real path of a directory an agent may work in (`spec/tools.md` §10.3). Throws `ARGUMENT` where it does not exist, is
 * no directory, or has a path that cannot be stored exactly.
 */
export const resolveCwd = (path: string): string => {
	const refuse = (why: string): LernieError =>
		new LernieError("ARGUMENT", `the working directory ${path}: ${why}. Give an existing directory`, { path });
	let real: Buffer;
	try {
		real = realpathSync(path, { encoding: "buffer" });
	} catch (thrown) {
		if (errnoOf(thrown) === "ENOENT") throw refuse("no such directory");
		throw new LernieError(
			"ARGUMENT",
			`the working directory ${path}: ${errnoOf(thrown) ?? "unreadable"}`,
			{ path },
			thrown,
		);
	}
	const text = real.toString("utf8");
	if (!Buffer.from(text).equals(real) || text.trim() !== text) throw refuse("its path cannot be stored exactly");
	if (!isDirectory(text)) throw refuse("not a directory");
	return text;
};

/** Where an agent works if nothing there is recorded; undefined while it is its own directory. `cwd` is its mark. */
export const unrecordedPlace = (layout: Layout, agent: string, cwd: string | undefined): string | undefined =>
	cwd === undefined || isWithin(agentDirectory(layout, agent), cwd) ? undefined : cwd;
