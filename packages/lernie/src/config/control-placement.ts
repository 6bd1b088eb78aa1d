import { existsSync } from "node:fs";
import { lstat, readlink } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { errnoOf, LernieError } from "@lernie/contract";
import type { Roots } from "../workspace/roots.ts";
import type { ControlConfig } from "./workflow.ts";

/** More links than any honest path has; the kernel gives up at the same number. */
const MAX_LINKS = 40;

interface Walk {
	/** Where every link on the way lies, and where the way ends; none of them reached through a link. */
	readonly places: readonly string[];
	readonly end: string;
}

const linkTarget = async (path: string): Promise<string | undefined> => {
	try {
		return (await lstat(path)).isSymbolicLink() ? await readlink(path) : undefined;
	} catch (thrown) {
		// What is not there, or not to be looked at, is no link; starting the control is what reports it.
		if (errnoOf(thrown) !== undefined) return undefined;
		throw thrown;
	}
};

const walk = async (path: string): Promise<Walk> => {
	const places: string[] = [];
	const left = resolve(path).split(sep).filter(Boolean);
	let at = sep as string;
	for (let part = left.shift(); part !== undefined; part = left.shift()) {
		if (part === "." || part === "") continue;
		if (part === "..") {
			at = dirname(at);
			continue;
		}
		const next = join(at, part);
		const target = places.length < MAX_LINKS ? await linkTarget(next) : undefined;
		if (target === undefined) {
			at = next;
			continue;
		}
		places.push(next);
		if (target.startsWith(sep)) at = sep;
		left.unshift(...target.split(sep));
	}
	return { places: [...places, at], end: at };
};

/** Whether a path is a directory or lies below it; both absolute, no link is followed. */
export const isWithin = (directory: string, path: string): boolean => {
	const way = relative(directory, path);
	return way === "" || (way !== ".." && !way.startsWith(`..${sep}`));
};

/**
 * Refuses a control that an agent could replace: neither it nor a link on the way to it may lie in the workspace's
 * `agents/` or `work/`, or in the directory the agent was given (DESIGN D22). Throws `CONFIG`.
 */
export const checkControlPlacement = async (control: string, workspace: string, cwd?: string): Promise<void> => {
	const given = cwd === undefined ? [] : [cwd];
	const reach = await Promise.all([join(workspace, "agents"), join(workspace, "work"), ...given].map(walk));
	const { places } = await walk(control);
	for (const { end: directory } of reach) {
		const place = places.find((candidate) => isWithin(directory, candidate));
		if (place === undefined) continue;
		const where = place === resolve(control) ? "" : ` (by way of ${place})`;
		throw new LernieError(
			"CONFIG",
			`tool_control.command: ${control}${where} lies in ${directory}, where an agent works and could replace it. put the control elsewhere`,
			{ key: "tool_control.command", control, place, directory },
		);
	}
};

/**
 * Refuses a control in the config root that is not there: a bare name is looked for there and never on `PATH` (D22), so
 * this is what a name from `PATH` comes to. Throws `CONFIG`.
 */
const checkControlName = (control: string, configRoot: string): void => {
	if (dirname(control) !== configRoot || existsSync(control)) return;
	throw new LernieError(
		"CONFIG",
		`tool_control.command: ${control}: no such file. a relative control is looked for in the config root and never on PATH; give an absolute path`,
		{ key: "tool_control.command", control },
	);
};

/** Refuses a control that cannot be used where the agent runs: both checks of above. Throws `CONFIG`. */
export const checkControl = async (
	control: ControlConfig,
	{ roots, workspace, cwd }: { readonly roots: Roots; readonly workspace: string; readonly cwd?: string },
): Promise<void> => {
	if (control.kind === "none") return;
	checkControlName(control.command, roots.config);
	await checkControlPlacement(control.command, workspace, cwd);
};
