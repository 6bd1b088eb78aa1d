import { readdirSync, renameSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callDirectory, errnoOf, LernieError, type ProcessRecord, type ToolCall } from "@lernie/contract";
import { createDurableDeep, makeDirectory } from "../workspace/durable.ts";
import { readGroup } from "../workspace/running.ts";

/** What `output.json` holds; a stream that was too large for it lies in a file beside it (CONTRACTS §7). */
interface OutputRecord {
	readonly stdout: string;
	readonly stderr: string;
	/** Null where the process had no exit code: it was ended at its time limit. */
	readonly exit_code: number | null;
	readonly started_at: string;
	readonly ended_at: string;
	readonly stdout_file?: string;
	readonly stderr_file?: string;
}

/** The record of one started call, `steps/<agent>/<NNN>/tools/<dir>/`. Every method throws `TOOL_RECORD` on a disk fault. */
export interface CallRecord {
	/** Name of the directory: the call's id where it is safe as one (`spec/tools.md` §8.1). */
	readonly directory: string;
	fileOf(name: string): string;
	process(record: ProcessRecord): void;
	output(record: OutputRecord): void;
}

const guarded = <Result>(path: string, what: string, act: () => Result): Result => {
	try {
		return act();
	} catch (thrown) {
		throw new LernieError("TOOL_RECORD", `${path}: ${what}`, { path }, thrown);
	}
};

/** Whole or not at all, but not synced: after a loss of power nothing relies on it. */
const writeReport = (path: string, body: unknown): void => {
	guarded(path, "the record of a call could not be written", () => {
		writeFileSync(`${path}.tmp`, `${JSON.stringify(body, null, 2)}\n`);
		renameSync(`${path}.tmp`, path);
	});
};

const inputText = ({ id, name, input }: ToolCall): string =>
	`{\n  "id": ${JSON.stringify(id)},\n  "name": ${JSON.stringify(name)},\n  "input": ${input}\n}\n`;

/**
 * Makes the directory of a step's call records durable, before several are opened side by side: each would leave it to the
 * first to sync what they share. Throws `TOOL_RECORD` where it cannot.
 */
export const prepareRecords = (stepDirectory: string): void => {
	const path = join(stepDirectory, "tools");
	guarded(path, "the start of a call could not be recorded", () => makeDirectory(path));
};

/**
 * Puts the start of a call on disk, file and names synced, before the call itself (DESIGN D25). Throws `TOOL_RECORD`
 * where it cannot, and where a call of this id was started in this step before: nothing is started twice (law 3).
 */
export const openRecord = async (
	stepDirectory: string,
	call: ToolCall,
	directory = callDirectory(call.id),
): Promise<CallRecord> => {
	const path = join(stepDirectory, "tools", directory);
	const input = join(path, "input.json");
	try {
		await createDurableDeep(input, inputText(call));
	} catch (thrown) {
		const what =
			errnoOf(thrown) === "EEXIST" && statSync(input, { throwIfNoEntry: false })?.isFile()
				? "a call with this id was started in this step before; it is not started again"
				: "the start of a call could not be recorded";
		throw new LernieError("TOOL_RECORD", `${path}: ${what}`, { path }, thrown);
	}
	return {
		directory,
		fileOf: (name) => join(path, name),
		process: (record) => writeReport(join(path, "process.json"), record),
		output: (record) => writeReport(join(path, "output.json"), record),
	};
};

/** What is on disk of a call. Only one with `input` may have started. */
export interface OpenCall {
	readonly directory: string;
	readonly input: boolean;
	/** Undefined where it was not written, or not whole: recovery then finds the group by its environment. */
	readonly process: ProcessRecord | undefined;
	readonly output: boolean;
}

const entriesOf = (path: string): string[] => {
	try {
		return readdirSync(path);
	} catch (thrown) {
		if (errnoOf(thrown) === "ENOENT" || errnoOf(thrown) === "ENOTDIR") return [];
		throw thrown;
	}
};

/** The call records of a step, for recovery. */
export const readOpenCalls = (stepDirectory: string): readonly OpenCall[] => {
	const tools = join(stepDirectory, "tools");
	return entriesOf(tools).map((directory) => {
		const path = join(tools, directory);
		const files = new Set(entriesOf(path));
		return {
			directory,
			input: files.has("input.json"),
			process: guarded(path, "the record of a call could not be read", () => readGroup(join(path, "process.json"))),
			output: files.has("output.json"),
		};
	});
};
