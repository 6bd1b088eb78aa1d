import { join } from "node:path";
import { readLine } from "../models/events.ts";
import type { Layout } from "../workspace/layout.ts";
import { readRegular } from "../workspace/regular.ts";
import { latestStep, readMeta, stepDirectory } from "../workspace/steps.ts";

/** The newest model call of an agent as its step's record shows it. */
export interface LastCall {
	/** Number of the step; 0 where no call was made yet. */
	readonly step: number;
	/** `cut`: the stream has no end, as while the call is under way and after its driver was killed. */
	readonly end: "none" | "whole" | "failed" | "cut";
	/** The commit it was made from, where the record still says so. */
	readonly from: string | undefined;
}

/** Whether a recorded line is an event of this type, however the program that sent it spaces its JSON. */
const isEvent = (line: string, type: "end" | "error"): boolean => {
	// Most lines are neither, and reading each one costs more than looking for the word.
	const read = line.includes(`"${type}"`) ? readLine(line) : undefined;
	return read?.kind === "event" && read.event.type === type;
};

/** Of the lines that are whole; after the last one's `end` nothing counts (`spec/tools.md` §18.6). */
const endOf = (response: string): LastCall["end"] => {
	const lines = response.split("\n").slice(0, -1);
	const last = lines.pop();
	if (last === undefined || !isEvent(last, "end")) return "cut";
	const start = lines.findLastIndex((line) => isEvent(line, "end"));
	return lines.slice(start + 1).some((line) => isEvent(line, "error")) ? "failed" : "whole";
};

/** Reads how the newest model call of an agent ended; of several attempts the last one counts. */
export const readLastCall = (layout: Layout, agent: string): LastCall => {
	const step = latestStep(layout, agent);
	if (step === 0) return { step, end: "none", from: undefined };
	const directory = stepDirectory(layout, agent, step);
	const end = endOf(readRegular(join(directory, "response.json")) ?? "");
	return { step, end, from: readMeta(directory)?.commit };
};
