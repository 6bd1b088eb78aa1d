import type { ObjectStats } from "../packages/lernie/src/git/types.ts";
import { median } from "./measure.ts";
import { type Bench, createBench } from "./workspace.ts";

export interface StepFigures {
	/** Transcript entries when it was measured; a step makes two. */
	readonly entries: number;
	readonly medianMs: number;
	readonly objects: number;
	readonly bytes: number;
	readonly fsyncs: number;
}

interface Sample {
	readonly at: number;
	readonly stats: ObjectStats;
}

const WINDOW = 50;

const figures = (samples: readonly Sample[], entries: number): StepFigures => {
	const until = entries / 2;
	const window = samples.slice(Math.max(0, until - WINDOW - 1), until);
	const steps = window.slice(1).map((sample, index) => {
		const before = window[index] ?? sample;
		const count = (key: keyof ObjectStats): number => sample.stats[key] - before.stats[key];
		return { ms: sample.at - before.at, objects: count("objects"), bytes: count("bytes"), fsyncs: count("fsyncs") };
	});
	return {
		entries,
		medianMs: median(steps.map((step) => step.ms)),
		objects: median(steps.map((step) => step.objects)),
		bytes: median(steps.map((step) => step.bytes)),
		fsyncs: median(steps.map((step) => step.fsyncs)),
	};
};

const samplesOf = async (bench: Bench, steps: number): Promise<readonly Sample[]> => {
	const samples: Sample[] = [];
	await bench.run(steps, (event) => {
		if (event.type === "result") samples.push({ at: performance.now(), stats: { ...bench.context.repo.stats() } });
	});
	return samples;
};

/** A durable step with a trivial call of an in-process tool, at each of `sizes` entries of one growing transcript. */
export const measureSteps = async (sizes: readonly number[]): Promise<readonly StepFigures[]> => {
	const bench = await createBench({ call: { name: "read_file", input: { path: "/etc/hostname" } } });
	try {
		const samples = await samplesOf(bench, Math.max(...sizes) / 2);
		return sizes.map((size) => figures(samples, size));
	} finally {
		await bench.close();
	}
};

/** A call of an external tool that does nothing, from its judgement to its committed result. Median milliseconds. */
export const measureExternal = async (): Promise<number> => {
	const bench = await createBench({ call: { name: "nothing", input: {} }, tools: { nothing: "#!/bin/true\n" } });
	const times: number[] = [];
	let began = 0;
	try {
		await bench.run(100, ({ type }) => {
			if (type === "call") began = performance.now();
			if (type === "result") times.push(performance.now() - began);
		});
		return median(times.slice(20));
	} finally {
		await bench.close();
	}
};
