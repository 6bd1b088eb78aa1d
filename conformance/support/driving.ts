import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { tickTool } from "./controls.ts";
import { type Place, type Ran, type Started, until, type Variables } from "./place.ts";
import { ofCalls } from "./processes.ts";
import { jsonLines } from "./scenario.ts";
import { faultsOf, type Line, openAt, transcriptOf } from "./transcript.ts";
import { CALLS, leaseFree, stateOf, steps } from "./window.ts";
import type { Workspace } from "./workspace.ts";

/** Every signal that is the stop (CONTRACTS §1). */
export const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A drive under way. */
export interface Driving extends Pick<Started, "ended" | "output"> {
	readonly agent: string;
	readonly pid: number;
	/** Signals the driver, nobody else, and waits for its end. */
	readonly stop: (signal?: NodeJS.Signals) => Promise<Ran>;
}

interface DriveOptions {
	readonly flags?: readonly string[];
	readonly env?: Variables;
}

const driving = (agent: string, { process: child, ended, output }: Started): Driving => {
	const { pid } = child;
	if (pid === undefined) throw new Error("the driver did not start");
	const stop = (signal: NodeJS.Signals = "SIGTERM"): Promise<Ran> => {
		child.kill(signal);
		return ended;
	};
	return { agent, pid, ended, output, stop };
};

const start = (ws: Workspace, args: readonly string[], { env = {} }: DriveOptions): Started =>
	ws.start(["-w", ws.dir, ...args], { env: { LERNIE_SCRIPT: ws.path("script.yaml"), ...env } });

/** Starts `lernie run` and waits until its agent exists. */
export const startRun = async (ws: Workspace, options: DriveOptions = {}): Promise<Driving> => {
	const started = start(ws, ["run", ...(options.flags ?? []), "go"], options);
	const agent = await until("the agent exists", () => {
		const { stdout, stderr } = started.output();
		return /^agent (\S+) /m.exec(stderr)?.[1] ?? /^\{"type":"agent","id":"([^"]+)"/m.exec(stdout)?.[1];
	});
	return driving(agent, started);
};

/** Starts `lernie advance`. */
export const startAdvance = (ws: Workspace, agent: string, options: DriveOptions = {}): Driving =>
	driving(agent, start(ws, ["advance", ...(options.flags ?? []), agent], options));

/**
 * A tool that ticks and then waits for ever. What it is told to do at SIGTERM is shell text, the empty text being to
 * ignore it; without one it dies of it.
 */
export const waitingTool = (place: Place, name: string, onTerm?: string): string => {
	const ready = `: > ${place.path(`${name}.ready`)}`;
	return onTerm === undefined
		? tickTool(place, name, `${ready}\nexec sleep 600`)
		: tickTool(place, name, `trap '${onTerm}' TERM\n${ready}\nexec 2> /dev/null\nwhile :; do sleep 0.05; done`);
};

/** Waits until a waiting tool or control runs. */
export const isReady = (place: Place, name: string): Promise<true> =>
	until(`${name} runs`, () => place.exists(`${name}.ready`));

/** The last line of JSON in an agent's `driver.log`. */
export const lastRecord = (ws: Workspace, agent: string): Readonly<Record<string, unknown>> | undefined =>
	ws.exists(`ws/steps/${agent}/driver.log`) ? jsonLines(ws.read(`ws/steps/${agent}/driver.log`)).at(-1) : undefined;

/** Every call of a history has one outcome, in the one order that providers accept. */
export const expectPaired = (ws: Workspace, agent: string): void => {
	const lines = transcriptOf(ws, agent);
	expect([faultsOf(lines), openAt(lines)]).toEqual([[], []]);
};

/** What holds of an agent whose drive was stopped, wherever it was. */
export const expectStopped = async (ws: Workspace, agent: string, ran: Ran): Promise<void> => {
	expect(ran, ran.stderr).toMatchObject({ code: 11, signal: null });
	expect(ofCalls(ws, agent), "left of its calls").toEqual([]);
	expect(leaseFree(ws, agent), "the lease is free").toBe(true);
	expectPaired(ws, agent);
	expect(lastRecord(ws, agent)).toMatchObject({ code: "STOPPED", exit: 11, tip: ws.tip(agent) });
	expect(await stateOf(ws, agent)).toBe("stopped");
};

interface Result {
	readonly id: string;
	readonly verdict: string | undefined;
	readonly text: string;
	readonly isError: boolean;
}

/** Every result of a transcript with the verdict its commit names. */
export const resultsOf = (lines: readonly Line[]): readonly Result[] =>
	lines.flatMap(({ answers, trailers }) =>
		answers.map((answer) => ({ ...answer, verdict: trailers["Lernie-Verdict"] })),
	);

/** What the model reads of a call that a stop ended, or kept from starting (`spec/tools.md` §14.1). */
export const expectSettled = (result: Result | undefined, started: "started" | "not started"): void => {
	expect(result).toMatchObject({ verdict: "stopped", isError: true });
	const text = result?.text ?? "";
	expect(text).toContain("did not return");
	expect(text).toContain("stopped");
	expect(text).not.toContain("Exit code:");
	if (started === "not started") expect(text).toMatch(/before it started\. Nothing of it was done/);
	else expect(text).toMatch(/while it ran\b.*\bstands\b/);
};

/** The lines of a step's `response.json`. */
export const responseLines = (ws: Workspace, agent: string, step: string): readonly string[] =>
	readFileSync(ws.path("ws/steps", agent, step, "response.json"), "utf8")
		.trimEnd()
		.split("\n");

export const END_LINE = '{"type":"end"}';

/**
 * What a stop makes of a message with the calls of `CALLS`: the first `kept` have their own results, the next one, which was
 * under way or about to start, and those after it are answered as stopped, and no further model call was made.
 */
export const expectRest = (ws: Workspace, agent: string, kept: number, current: "started" | "not started"): void => {
	const results = resultsOf(transcriptOf(ws, agent));
	expect(results.map(({ id }) => id)).toEqual(CALLS.map(({ id }) => id));
	for (const [at, result] of results.entries()) {
		if (at < kept) expect(result).toMatchObject({ isError: false, text: "Exit code: 0\n" });
		else expectSettled(result, at === kept ? current : "not started");
	}
	expect(steps(ws, agent), "model calls").toBe(1);
};
