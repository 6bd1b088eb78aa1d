import { expect } from "vitest";
import { processesNaming, type Ran } from "../conformance/support/place.ts";
import type { Workspace } from "../conformance/support/workspace.ts";
import { startsOf } from "./check.ts";
import type { Story } from "./story.ts";

/** Who dies: the driver alone, with it everything it started (git, controls, tools and what those started), or only that. */
export type Victims = "driver" | "family" | "children";

const SIGKILL = "SIGKILL";

const killFamily = (root: string, spared?: number): void => {
	for (const pid of processesNaming(root)) {
		if (pid === spared) continue;
		try {
			process.kill(pid, SIGKILL);
		} catch {
			// It ended by itself meanwhile.
		}
	}
};

/** Runs a command that is killed at `site`, as `<site>` or `<site>#n`; resolves once it is dead. */
export const runKilledAt = async (
	ws: Workspace,
	args: readonly string[],
	site: string,
	victims: Victims,
): Promise<Ran> => {
	const env = { LERNIE_CRASH_AT: site, LERNIE_SCRIPT: ws.path("script.yaml") };
	const started = ws.start(["-w", ws.dir, ...args], { env });
	if (victims === "family")
		started.process.once("exit", (_, signal) => {
			if (signal === SIGKILL) killFamily(ws.root);
		});
	return started.ended;
};

/** Runs a command that is killed after a time, wherever it then is, the middle of a git transaction included. */
export const runKilledAfter = async (
	ws: Workspace,
	args: readonly string[],
	ms: number,
	victims: Victims,
): Promise<Ran> => {
	const started = ws.start(["-w", ws.dir, ...args], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
	const kill = (): void => {
		if (victims === "driver") started.process.kill(SIGKILL);
		else killFamily(ws.root, victims === "children" ? started.process.pid : undefined);
	};
	const timer = setTimeout(kill, ms);
	const ran = await started.ended;
	clearTimeout(timer);
	return ran;
};

/** Runs a command that is told to stop a time after it began, or after it said its first word, wherever it then is. */
export const runStoppedAfter = async (
	ws: Workspace,
	args: readonly string[],
	{ ms, from, signal }: { readonly ms: number; readonly from: "start" | "word"; readonly signal: NodeJS.Signals },
): Promise<Ran> => {
	const started = ws.start(["-w", ws.dir, ...args], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
	let timer: NodeJS.Timeout | undefined;
	const arm = (): void => {
		timer ??= setTimeout(() => started.process.kill(signal), ms);
	};
	if (from === "start") arm();
	else for (const stream of [started.process.stdout, started.process.stderr]) stream?.once("data", arm);
	const ran = await started.ended;
	clearTimeout(timer);
	return ran;
};

/** What the operator does about a held call; until then it has not started. */
const answer = (story: Story, agent: string, told: string): void => {
	expect(story.exists("home/answered"), `${told}: a call that is answered is held again`).toBe(false);
	expect(story.mark(agent), told).toMatchObject({ tool: "ask", kind: "hold", reason: "a person decides" });
	expect(startsOf(story, "held"), `${told}: a held call started before its answer`).toEqual([]);
	story.write("home/answered", "");
};

/** A drive cannot take more turns than this to come to rest, whatever was killed before. */
const TURNS = 4;

/** Drives a story until it rests on its final answer, answering the hold where it parks. */
export const driveToRest = async (story: Story, agent: string, told: string): Promise<void> => {
	for (let turn = 1; turn <= TURNS; turn += 1) {
		const ran = await story.advance(agent);
		if (ran.code === 0) return;
		expect(ran.code, `${told}: drive ${turn} says: ${ran.stderr}`).toBe(10);
		answer(story, agent, told);
	}
	expect.fail(`${told}: after ${TURNS} drives it still does not rest`);
};
