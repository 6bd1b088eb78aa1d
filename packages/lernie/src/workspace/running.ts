import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errnoOf, type ProcessRecord } from "@lernie/contract";
import { type Layout, stepsDirectory } from "./layout.ts";
import { readJsonFile } from "./regular.ts";

const directoryOf = (layout: Layout, agent: string): string => join(stepsDirectory(layout, agent), "running");

/** Notes that a group runs for a drive, and answers how to take the note back once it is gone. */
export type TrackGroup = (group: ProcessRecord) => () => void;

/**
 * Keeps the groups of controls and model programs where the next drive finds them, should this one be killed: they act for
 * the operator, and nothing in their environment names the agent's calls as a tool's does.
 */
export const trackGroups =
	(layout: Layout, agent: string): TrackGroup =>
	(group) => {
		const directory = directoryOf(layout, agent);
		const path = join(directory, `${group.pgid}.json`);
		mkdirSync(directory, { recursive: true });
		writeFileSync(path, `${JSON.stringify(group)}\n`);
		return () => rmSync(path, { force: true });
	};

export interface LeftGroup {
	/** Undefined where the note is not whole: its writer died on the way, and what it was about is not known. */
	readonly group: ProcessRecord | undefined;
	readonly forget: () => void;
}

/** The groups that a drive which did not end by itself left on record. */
export const leftGroups = (layout: Layout, agent: string): readonly LeftGroup[] => {
	const directory = directoryOf(layout, agent);
	let names: string[];
	try {
		names = readdirSync(directory);
	} catch (thrown) {
		if (errnoOf(thrown) === "ENOENT" || errnoOf(thrown) === "ENOTDIR") return [];
		throw thrown;
	}
	return names.map((name) => {
		const path = join(directory, name);
		return { group: readGroup(path), forget: () => rmSync(path, { recursive: true, force: true }) };
	});
};

/** A group written as JSON, or undefined where the file is missing, not whole or of something else. */
export const readGroup = (path: string): ProcessRecord | undefined => {
	const value = readJsonFile(path);
	if (typeof value !== "object" || value === null) return undefined;
	const pgid: unknown = Reflect.get(value, "pgid");
	const start: unknown = Reflect.get(value, "start_time");
	const boot: unknown = Reflect.get(value, "boot_id");
	if (!Number.isSafeInteger(pgid) || typeof start !== "string" || typeof boot !== "string") return undefined;
	return { pgid: Number(pgid), start_time: start, boot_id: boot };
};
