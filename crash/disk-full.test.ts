import { afterAll, expect } from "vitest";
import type { Ran } from "../conformance/support/place.ts";
import { createRandom, testSeed } from "../conformance/support/random.ts";
import { together } from "../conformance/support/together.ts";
import { verifies } from "../conformance/support/verifies.ts";
import { checkRest } from "./check.ts";
import { driveToRest } from "./drives.ts";
import { openStory, removeTemplates, type Story } from "./story.ts";

afterAll(removeTemplates);

const seed = testSeed();

/**
 * Loaded before the driver: counts what it writes to the disk and lets one such call, or every one from there on, fail as
 * on a full disk. At its end it says how many there were.
 */
const HOOK = `
const fs = require("node:fs");
const { syncBuiltinESMExports } = require("node:module");
const [at, stays, out] = process.env.LERNIE_TEST_DISK.split(" ");
const write = fs.writeFileSync;
let count = 0;
for (const name of ["writeSync", "writeFileSync", "appendFileSync", "fsyncSync", "renameSync", "linkSync"]) {
	const real = fs[name];
	fs[name] = (...args) => {
		count += 1;
		if (count !== Number(at) && !(stays === "stays" && count > Number(at))) return real.apply(fs, args);
		throw Object.assign(new Error("ENOSPC: no space left on device, " + name), { code: "ENOSPC", syscall: name });
	};
}
syncBuiltinESMExports();
process.on("exit", () => write(out, String(count)));
`;

/** Begins a story whose driver cannot write for the \`at\`-th time, or from then on. */
const begin = async (story: Story, at: number, stays: boolean): Promise<Ran & { readonly writes: number }> => {
	const hook = story.write("home/disk.cjs", HOOK);
	const env = {
		NODE_OPTIONS: `--require ${hook}`,
		LERNIE_TEST_DISK: `${at} ${stays ? "stays" : "once"} ${story.path("home/writes")}`,
	};
	const ran = await story.in(story.begin(), { env });
	return { ...ran, writes: Number(story.read("home/writes")) };
};

const ONCE = 16;
const FOR_GOOD = 6;

verifies(
	"harness-J103",
	`a write that fails anywhere, once or for good, leaves nothing that the next drive cannot take up (seed ${seed})`,
	async () => {
		const { below } = createRandom(seed);
		const { code, writes } = await begin(await openStory("run"), 0, false);
		expect(code).toBe(10);
		expect(writes).toBeGreaterThan(ONCE);
		const places = Array.from({ length: ONCE + FOR_GOOD }, (_, nth) => ({
			at: 1 + below(writes),
			stays: nth >= ONCE,
		}));
		let failed = 0;
		await together(places, async ({ at, stays }) => {
			const story = await openStory("run");
			const ran = await begin(story, at, stays);
			const told = `seed ${seed}: write ${at} of ${writes} failed${stays ? " and all after it" : ""} (${ran.code})`;
			expect(ran.signal, told).toBeNull();
			// A control that could not be asked is one that could not answer.
			expect([0, 1, 10, 14], `${told}: ${ran.stderr}`).toContain(ran.code);
			if (ran.code === 1) {
				failed += 1;
				expect(ran.stderr, told).toMatch(/ENOSPC|no space|cannot|could not/);
			}
			// A founding that failed left no agent, and does not hinder the next.
			if (story.agent() === undefined) expect((await story.in(story.begin())).code, told).toBe(10);
			const agent = story.agent() ?? "";
			await driveToRest(story, agent, told);
			checkRest(story, agent, told);
		});
		expect(failed, `seed ${seed}: drives that ended in the fault`).toBeGreaterThan(0);
	},
	300_000,
);
