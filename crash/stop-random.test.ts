import { afterAll, expect } from "vitest";
import { expectPaired, STOP_SIGNALS } from "../conformance/support/driving.ts";
import { createRandom, testSeed } from "../conformance/support/random.ts";
import { together } from "../conformance/support/together.ts";
import { verifies } from "../conformance/support/verifies.ts";
import { quiet } from "../conformance/support/window.ts";
import { checkRest } from "./check.ts";
import { driveToRest, runStoppedAfter } from "./drives.ts";
import { openStory, type Phase, removeTemplates } from "./story.ts";

afterAll(removeTemplates);

const seed = testSeed();

/** From the first word of a phase's drive to its last, here and now: a signal that comes later hits nothing. */
const wholeDrive = async (phase: Phase): Promise<number> => {
	const story = await openStory(phase);
	const drive = story.start(["-w", story.dir, ...story.begin()], { env: { LERNIE_SCRIPT: story.path("script.yaml") } });
	const words: number[] = [];
	for (const stream of [drive.process.stdout, drive.process.stderr])
		stream?.on("data", () => words.push(performance.now()));
	expect([0, 10]).toContain((await drive.ended).code);
	return (words.at(-1) ?? 0) - (words[0] ?? 0);
};

type Stop = Parameters<typeof runStoppedAfter>[2];

/** Stops a story twice, one drive each, then drives it to its rest. Answers how many of the two were stopped in time. */
const stopTwice = async (phase: Phase, next: () => Stop): Promise<number> => {
	const story = await openStory(phase);
	let told = `seed ${seed}: ${phase},`;
	let stopped = 0;
	for (const stop of [next(), next()]) {
		const { code, signal: died, stderr } = await runStoppedAfter(story, story.begin(), stop);
		told += ` ${stop.signal} ${stop.ms} ms after its ${stop.from} (${died ?? code})`;
		// A process that has not come to install its handlers dies of it.
		if (died === null) expect([0, 10, 11], `${told}: ${stderr}`).toContain(code);
		else expect(died, told).toBe(stop.signal);
		await quiet(story);
		const agent = story.agent();
		if (code !== 11 || agent === undefined) break;
		stopped += 1;
		expectPaired(story, agent);
	}
	if (story.agent() === undefined) expect((await story.in(story.begin())).code, told).toBe(10);
	const agent = story.agent() ?? "";
	await driveToRest(story, agent, told);
	checkRest(story, agent, told);
	return stopped;
};

/** Stops at least `wanted` drives of a phase at random instants. */
const stopMany = async (phase: Phase, wanted: number): Promise<void> => {
	const { below, pick } = createRandom(seed);
	let span = await wholeDrive(phase);
	let stops = 0;
	const next = (): Stop => ({
		ms: below(Math.ceil(span)),
		from: pick(["start", "word", "word", "word", "word", "word"] as const),
		signal: pick(STOP_SIGNALS),
	});
	const stories = Array.from({ length: 4 * wanted }, (_, at) => at);
	await together(stories, async () => {
		if (stops >= wanted) return;
		const more = await stopTwice(phase, next);
		stops += more;
		// How long a drive takes changes with what else the machine does.
		if (more === 0) span *= 0.8;
	});
	expect(stops, `seed ${seed}`).toBeGreaterThanOrEqual(wanted);
};

verifies(
	["harness-C47", "stop-random"],
	`stopped at twenty random instants nothing acts twice and every call is answered (seed ${seed})`,
	() => stopMany("run", 20),
	240_000,
);

verifies(
	["harness-B27", "stop-random"],
	`stopped at ten random instants around an approved call it runs at most once (seed ${seed})`,
	() => stopMany("answered", 10),
	240_000,
);
