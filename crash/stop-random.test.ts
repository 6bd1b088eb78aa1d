import { afterAll, expect } from "vitest";
import { expectPaired, STOP_SIGNALS } from "../conformance/support/driving.ts";
import { until } from "../conformance/support/place.ts";
import { createRandom, testSeed } from "../conformance/support/random.ts";
import { together } from "../conformance/support/together.ts";
import { verifies } from "../conformance/support/verifies.ts";
import { quiet } from "../conformance/support/window.ts";
import { checkRest } from "./check.ts";
import { driveToRest, runStoppedAfter } from "./drives.ts";
import { openStory, type Phase, removeTemplates } from "./story.ts";

afterAll(removeTemplates);

const seed = testSeed();

/** What a drive of a phase takes here and now from its first word on: a signal that comes later hits nothing. */
const wholeDrive = async (phase: Phase): Promise<number> => {
	const story = await openStory(phase);
	const drive = story.start(["-w", story.dir, ...story.begin()], { env: { LERNIE_SCRIPT: story.path("script.yaml") } });
	await until("its first word", () => drive.output().stdout + drive.output().stderr !== "");
	const began = performance.now();
	expect([0, 10]).toContain((await drive.ended).code);
	return performance.now() - began;
};

/** Stops a story at the given times, one drive each, then drives it to its rest. Answers how many drives were stopped. */
const stopAt = async (phase: Phase, stops: readonly Parameters<typeof runStoppedAfter>[2][]): Promise<number> => {
	const story = await openStory(phase);
	let told = `seed ${seed}: ${phase},`;
	let stopped = 0;
	for (const stop of stops) {
		const { code, signal: died, stderr } = await runStoppedAfter(story, story.begin(), stop);
		told += ` ${stop.signal} ${stop.ms} ms after its ${stop.from} (${died ?? code})`;
		// A process that has not come to install its handlers dies of it.
		if (died === null) expect([0, 10, 11], `${told}: ${stderr}`).toContain(code);
		else expect(died, told).toBe(stop.signal);
		await quiet(story);
		const agent = story.agent();
		if (code !== 11 || agent === undefined) continue;
		stopped += 1;
		expectPaired(story, agent);
	}
	if (story.agent() === undefined) expect((await story.in(story.begin())).code, told).toBe(10);
	const agent = story.agent() ?? "";
	await driveToRest(story, agent, told);
	checkRest(story, agent, told);
	return stopped;
};

for (const [ids, phase, wanted] of [
	[["harness-C47", "stop-random"], "run", 20],
	[["harness-B27", "stop-random"], "answered", 10],
] as const)
	verifies(
		ids,
		`stopped at ${wanted} instants of the phase ${phase}: nothing acts twice, every call is answered (seed ${seed})`,
		async () => {
			const { below, pick } = createRandom(seed);
			const longest = await wholeDrive(phase);
			let stops = 0;
			const stop = () => ({
				ms: below(longest),
				from: pick(["start", "word", "word", "word"] as const),
				signal: pick(STOP_SIGNALS),
			});
			// More than are needed: a signal may come before the handlers are there, or after the end.
			const stories = Array.from({ length: 3 * wanted }, () => [stop(), stop()]);
			await together(stories, async (times) => {
				if (stops < wanted) stops += await stopAt(phase, times);
			});
			expect(stops, `seed ${seed}`).toBeGreaterThanOrEqual(wanted);
		},
		240_000,
	);
