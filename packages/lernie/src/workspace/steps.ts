import { appendFileSync, existsSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DriverRecord, errnoOf, LernieError, type StepMeta, type VerdictRecord } from "@lernie/contract";
import { type Layout, stepsDirectory } from "./layout.ts";
import { readJsonFile, readRegular } from "./regular.ts";

/** A step's number as its directory's name: three digits or more. */
export const stepName = (number: number): string => String(number).padStart(3, "0");

/** The largest step number an agent has, 0 for none (`spec/tools.md` §1). Throws `DISK` where a file stands in the place. */
export const latestStep = (layout: Layout, agent: string): number => {
	const path = stepsDirectory(layout, agent);
	try {
		return readdirSync(path).reduce(
			(largest, name) => (/^\d+$/.test(name) ? Math.max(largest, Number(name)) : largest),
			0,
		);
	} catch (thrown) {
		if (errnoOf(thrown) === "ENOENT") return 0;
		throw new LernieError("DISK", `${path}: the step records cannot be listed`, { path }, thrown);
	}
};

export const stepDirectory = (layout: Layout, agent: string, number: number): string =>
	join(stepsDirectory(layout, agent), stepName(number));

/** The next number. A hint that the disk bears out saves listing thousands of steps. */
const stepAfter = (layout: Layout, agent: string, hint: number | undefined): number => {
	const known = (number: number): boolean => existsSync(stepDirectory(layout, agent, number));
	return hint !== undefined && known(hint) && !known(hint + 1) ? hint + 1 : latestStep(layout, agent) + 1;
};

/**
 * Opens the next step with its `meta.json`. Not synced: a call record syncs what it relies on, and a step whose
 * `meta.json` is lost is one of which nothing is certain (D25).
 */
export const beginStep = (layout: Layout, agent: string, meta: StepMeta, hint?: number): number => {
	const number = stepAfter(layout, agent, hint);
	const path = stepDirectory(layout, agent, number);
	mkdirSync(path, { recursive: true });
	writeMeta(path, meta);
	return number;
};

const writeMeta = (step: string, meta: StepMeta): void => {
	const path = join(step, "meta.json");
	writeFileSync(`${path}.tmp`, `${JSON.stringify(meta, null, 2)}\n`);
	renameSync(`${path}.tmp`, path);
};

/** Completes `meta.json`. */
export const endStep = (step: string, meta: StepMeta): void => writeMeta(step, meta);

/** A step's `meta.json`, or undefined where it is missing or not whole. */
export const readMeta = (step: string): StepMeta | undefined => {
	const value = readJsonFile(join(step, "meta.json"));
	if (typeof value !== "object" || value === null) return undefined;
	const commit: unknown = Reflect.get(value, "commit");
	const started: unknown = Reflect.get(value, "started_at");
	const ended: unknown = Reflect.get(value, "ended_at");
	if (typeof commit !== "string" || typeof started !== "string") return undefined;
	return { commit, started_at: started, ...(typeof ended === "string" ? { ended_at: ended } : {}) };
};

/** Appends one consult to the step's `verdicts.jsonl` (CONTRACTS §7). */
export const appendVerdict = (step: string, record: VerdictRecord): void => {
	mkdirSync(step, { recursive: true });
	appendFileSync(join(step, "verdicts.jsonl"), `${JSON.stringify(record)}\n`);
};

export const driverLogPath = (layout: Layout, agent: string): string =>
	join(stepsDirectory(layout, agent), "driver.log");

/** Says why a drive ended with a non-zero code, as the last line of `driver.log` (CONTRACTS §10). */
export const appendDriverRecord = (layout: Layout, agent: string, record: DriverRecord): void => {
	mkdirSync(stepsDirectory(layout, agent), { recursive: true });
	appendFileSync(driverLogPath(layout, agent), `${JSON.stringify(record)}\n`);
};

const readRecordLine = (line: string): DriverRecord | undefined => {
	if (!line.startsWith("{")) return undefined;
	try {
		return JSON.parse(line) as DriverRecord;
	} catch (thrown) {
		if (thrown instanceof SyntaxError) return undefined;
		throw thrown;
	}
};

/** The record of the last drive that ended with a non-zero code. What a detached drive said to people lies between records. */
export const readDriverRecord = (layout: Layout, agent: string): DriverRecord | undefined => {
	const lines = (readRegular(driverLogPath(layout, agent)) ?? "").split("\n");
	const at = lines.findLastIndex((line) => readRecordLine(line) !== undefined);
	return at === -1 ? undefined : readRecordLine(lines[at] ?? "");
};
