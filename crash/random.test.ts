import { afterAll, expect } from "vitest";
import { createRandom, testSeed } from "../conformance/support/random.ts";
import { together } from "../conformance/support/together.ts";
import { verifies } from "../conformance/support/verifies.ts";
import { checkRest } from "./check.ts";
import { driveToRest, runKilledAfter, type Victims } from "./drives.ts";
import { openStory, removeTemplates } from "./story.ts";

afterAll(removeTemplates);

const KILLS = 20;
const CHILDREN_KILLS = 10;
const seed = testSeed();

/** What the first drive of a story takes here and now: a kill that comes later hits nothing. */
const wholeDrive = async (): Promise<number> => {
	const story = await openStory("run");
	const began = performance.now();
	expect((await story.in(story.begin())).code).toBe(10);
	return performance.now() - began;
};

/** Kills a story at the given times, one drive each, then drives it to its rest. Answers how many drivers died. */
const killAt = async (times: readonly number[], victims: () => Victims): Promise<number> => {
	const story = await openStory("run");
	let told = `seed ${seed}:`;
	let died = 0;
	for (const ms of times) {
		const who = victims();
		const ran = await runKilledAfter(story, story.begin(), ms, who);
		told += ` ${who} killed after ${Math.round(ms)} ms (${ran.signal ?? ran.code})`;
		if (ran.signal === "SIGKILL") died += 1;
	}
	if (story.agent() === undefined) expect((await story.in(story.begin())).code, told).toBe(10);
	const agent = story.agent() ?? "";
	await driveToRest(story, agent, told);
	checkRest(story, agent, told);
	return died;
};

verifies(
	"harness-A4",
	`after twenty kills at any instant every agent is drivable, no file repaired (seed ${seed})`,
	async () => {
		const { below, pick } = createRandom(seed);
		const longest = await wholeDrive();
		let kills = 0;
		// More than are needed: a kill may come after the end of its drive.
		const stories = Array.from({ length: 3 * KILLS }, () => [below(longest), below(longest / 2)]);
		await together(stories, async (times) => {
			if (kills >= KILLS) return;
			const more = await killAt(times, () => pick<Victims>(["driver", "family"]));
			kills += more;
		});
		expect(kills, `seed ${seed}`).toBeGreaterThanOrEqual(KILLS);
	},
	240_000,
);

verifies(
	"crash-children",
	`git, controls and tools killed under a living driver are recovered by the next drive (seed ${seed})`,
	async () => {
		const { below } = createRandom(seed);
		const longest = await wholeDrive();
		const stories = Array.from({ length: CHILDREN_KILLS }, () => [below(longest)]);
		await together(stories, async (times) => void (await killAt(times, () => "children")));
	},
	240_000,
);
