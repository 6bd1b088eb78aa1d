import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { SiteCase } from "../conformance/cases/crash.ts";
import { together } from "../conformance/support/together.ts";
import { checkRest } from "./check.ts";
import { driveToRest, runKilledAt, type Victims } from "./drives.ts";
import { openStory, type Phase, type Story } from "./story.ts";

/** Foundings that were killed before their one ref transaction: an inbox each, which `doctor` names, and nothing else. */
export const checkUnfounded = async (story: Story, told: string, foundings = 1): Promise<void> => {
	expect(story.git("for-each-ref", "--format=%(refname)").trim(), told).toBe("refs/heads/config/default");
	for (const directory of ["agents", "steps"]) expect(readdirSync(join(story.dir, directory)), told).toEqual([]);
	const inboxes = readdirSync(join(story.dir, "inbox")).sort();
	expect(inboxes, told).toHaveLength(foundings);
	const { code, stdout } = await story.in(["--json", "doctor"]);
	const lost = inboxes.map((id) => ({ id, messages: 1 }));
	expect([code, JSON.parse(stdout)], told).toEqual([0, { inboxes_without_agent: lost }]);
	expect((await story.in(["--json", "ls"])).stdout, told).toBe("[]\n");
};

const killOnce = async (phase: Phase, at: string, victims: Victims): Promise<void> => {
	const told = `${victims} killed at ${at} of ${phase}`;
	const story = await openStory(phase);
	const killed = await runKilledAt(story, story.begin(), at, victims);
	expect(killed.signal, `${told}: it was not passed; stderr: ${killed.stderr}`).toBe("SIGKILL");
	if (story.agent() === undefined) {
		await checkUnfounded(story, told);
		// A founding that never happened does not hinder the next one.
		expect((await story.in(story.begin())).code, told).toBe(10);
	}
	const agent = story.agent() ?? "";
	await driveToRest(story, agent, told);
	checkRest(story, agent, told);
};

const PHASES: readonly Phase[] = ["run", "held", "answered"];

/** Kills at every passing the case names, or with `few` at the first and the last of each phase. */
export const killAtSite = (one: SiteCase, victims: Victims, few: boolean): Promise<void> => {
	const kills = PHASES.flatMap((phase) => {
		const all = one[phase as keyof SiteCase] as readonly number[] | undefined;
		const chosen = few ? all?.filter((_, at) => at === 0 || at === all.length - 1) : all;
		return (chosen ?? []).map((n) => ({ phase, at: `${one.site}#${n}` }));
	});
	return together(kills, ({ phase, at }) => killOnce(phase, at, victims));
};
