import { expect } from "vitest";
import { ticks, tickTool, waitingControl } from "../conformance/support/controls.ts";
import { expectPaired, resultsOf, startRun, waitingTool } from "../conformance/support/driving.ts";
import { createPlace, processesNaming, until } from "../conformance/support/place.ts";
import { transcriptOf } from "../conformance/support/transcript.ts";
import { verifies } from "../conformance/support/verifies.ts";
import { stateOf } from "../conformance/support/window.ts";
import { createWorkspace } from "../conformance/support/workspace.ts";

const NAMES = ["alpha", "beta", "gamma"];

/** Where the stop finds the drive: in the first of three calls, or in the consult about it. */
type During = "tool" | "consult";

/**
 * Stops a drive and kills it at a site that it passes while it answers the open calls, then drives on. Answers how the
 * drive ended: killed before the stop was sent, killed while it was settled, or not killed at all.
 */
const killInSettlement = async (during: During, site: string): Promise<"before" | "settling" | "never"> => {
	const place = createPlace();
	for (const name of NAMES) tickTool(place, name);
	if (during === "tool") waitingTool(place, "alpha");
	const ws = await createWorkspace({
		place,
		script: { calls: [{ tools: NAMES.map((name, at) => ({ id: `t${at}`, name })) }, { say: "done" }] },
		tools: NAMES,
		control: during === "tool" ? "none" : waitingControl(place, "t0"),
	});
	const run = await startRun(ws, { env: { LERNIE_CRASH_AT: site } });
	const ready = during === "tool" ? "alpha.ready" : "control.ready";
	let ended = false;
	void run.ended.then(() => {
		ended = true;
	});
	await until("it is where the stop is to find it", () => ended || place.exists(ready));
	const early = ended;
	const ran = await run.stop();
	expect(ran, site).toMatchObject(early || ran.signal !== null ? { signal: "SIGKILL" } : { code: 11 });
	if (early) {
		// Killed on the way there, which other tests are about; what it left is ended all the same.
		await ws.advance(run.agent, { env: { LERNIE_CRASH_AT: "release.before" } });
		return "before";
	}
	const killed = ran.signal !== null;
	if (killed) expect(["crashed", "pending", "stopped"], site).toContain(await stateOf(ws, run.agent));
	place.script("control", "#!/bin/sh\nprintf '%s' '{\"verdict\":\"pass\"}'\n");
	expect(await ws.advance(run.agent), site).toMatchObject({ code: 0 });
	expectPaired(ws, run.agent);
	const results = resultsOf(transcriptOf(ws, run.agent));
	expect(
		results.map(({ id }) => id),
		site,
	).toEqual(["t0", "t1", "t2"]);
	for (const [at, { verdict, isError }] of results.entries()) {
		const repaired = at === 0 && during === "tool" ? "unknown" : "not-started";
		expect([isError, ["stopped", repaired].includes(verdict ?? "")], `${site}: t${at} ${verdict}`).toEqual([
			true,
			true,
		]);
	}
	expect(ticks(place), site).toEqual(during === "tool" ? ["alpha"] : []);
	expect([processesNaming(place.root), await stateOf(ws, run.agent)], site).toEqual([[], "done"]);
	return killed ? "settling" : "never";
};

const MOST = 12;

/** Every passing of a site that lies behind the stop. */
const killAtEvery = async (during: During, site: string, from: number, wanted: number): Promise<void> => {
	let settling = 0;
	for (let n = from; n <= MOST && settling < wanted; n += 1) {
		const ended = await killInSettlement(during, `${site}#${n}`);
		if (ended === "never") break;
		if (ended === "settling") settling += 1;
	}
	expect(settling, `kills at ${site} while the stop was settled`).toBe(wanted);
};

/** Sites of a settlement: the first passing that can lie behind the stop, and how many do. */
const TOOL: readonly (readonly [string, number, number])[] = [
	["tool.exited", 1, 1],
	["entry.objects", 3, 3],
	["snapshot.done", 1, 3],
	["result.ref", 1, 3],
	["release.before", 1, 1],
	["release.after", 1, 1],
];

for (const [site, from, wanted] of TOOL)
	verifies(
		"crash-stop",
		`a drive killed at ${site} while it answers the calls of a stopped tool is repaired by the next`,
		() => killAtEvery("tool", site, from, wanted),
		120_000,
	);

for (const [site, from, wanted] of [
	["consult.answered", 1, 1],
	["result.ref", 1, 3],
] as const)
	verifies(
		"crash-stop",
		`a drive killed at ${site} while it answers the calls behind a stopped consult is repaired by the next`,
		() => killAtEvery("consult", site, from, wanted),
		120_000,
	);
