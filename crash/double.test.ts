import { afterAll, expect } from "vitest";
import { SITES } from "../conformance/cases/crash.ts";
import { createRandom, testSeed } from "../conformance/support/random.ts";
import { together } from "../conformance/support/together.ts";
import { verifies } from "../conformance/support/verifies.ts";
import { checkRest } from "./check.ts";
import { driveToRest, runKilledAt, type Victims } from "./drives.ts";
import { checkUnfounded } from "./kill-once.ts";
import { openStory, type Phase, removeTemplates } from "./story.ts";

afterAll(removeTemplates);

const PAIRS = 25;
const seed = testSeed();

interface Pair {
	readonly phase: Phase;
	readonly kills: readonly { readonly at: string; readonly victims: Victims }[];
}

const walk = (): readonly Pair[] => {
	const { pick } = createRandom(seed);
	const victims: readonly Victims[] = ["driver", "family"];
	return Array.from({ length: PAIRS }, () => {
		const phase = pick<Phase>(["run", "answered"]);
		const first = pick(SITES.filter((one) => one[phase as "run" | "answered"] !== undefined));
		const n = pick(first[phase as "run" | "answered"] ?? []);
		// The second drive has less before it: the first or second passing of any site, often none at all.
		const second = pick(SITES.filter(({ site }) => !site.startsWith("found.")));
		return {
			phase,
			kills: [
				{ at: `${first.site}#${n}`, victims: pick(victims) },
				{ at: `${second.site}#${pick([1, 1, 1, 2])}`, victims: pick(victims) },
			],
		};
	});
};

const killTwice = async ({ phase, kills }: Pair): Promise<boolean> => {
	const told = `seed ${seed}: ${phase}, ${kills.map(({ at, victims }) => `${victims} killed at ${at}`).join(", then ")}`;
	const story = await openStory(phase);
	let killed = 0;
	for (const { at, victims } of kills) {
		const ran = await runKilledAt(story, story.begin(), at, victims);
		if (ran.signal === "SIGKILL") killed += 1;
		else expect([0, 10], `${told}: ${ran.stderr}`).toContain(ran.code);
		if (story.agent() === undefined) await checkUnfounded(story, told, killed);
	}
	if (story.agent() === undefined) expect((await story.in(story.begin())).code, told).toBe(10);
	const agent = story.agent() ?? "";
	await driveToRest(story, agent, told);
	checkRest(story, agent, told);
	return killed === 2;
};

verifies(
	"crash-twice",
	`a drive that is killed while it recovers from a kill is recovered in turn (seed ${seed})`,
	async () => {
		let twice = 0;
		await together(walk(), async (pair) => {
			if (await killTwice(pair)) twice += 1;
		});
		// A walk that seldom kills a second time would test nothing new.
		expect(twice, `seed ${seed}`).toBeGreaterThan(PAIRS / 10);
	},
	240_000,
);
