import { join } from "node:path";
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

const END = '{"type":"end"}';

const endOf = (response: string): LastCall["end"] => {
	const lines = response.split("\n").slice(0, -1);
	if (lines.at(-1) !== END) return "cut";
	const start = lines.slice(0, -1).lastIndexOf(END);
	return lines.slice(start + 1).some((line) => line.startsWith('{"type":"error"')) ? "failed" : "whole";
};

/** Reads how the newest model call of an agent ended; of several attempts the last one counts. */
export const readLastCall = (layout: Layout, agent: string): LastCall => {
	const step = latestStep(layout, agent);
	if (step === 0) return { step, end: "none", from: undefined };
	const directory = stepDirectory(layout, agent, step);
	const end = endOf(readRegular(join(directory, "response.json")) ?? "");
	return { step, end, from: readMeta(directory)?.commit };
};
