import { spawnSync } from "node:child_process";
import type { Ran, RunOptions } from "./place.ts";
import { createWorkspace, type Script, type Workspace, type WorkspaceOptions } from "./workspace.ts";

/** One call of a scripted model (CONTRACTS §9). */
export interface Call {
	readonly name: string;
	readonly id?: string;
	readonly input?: unknown;
	/** The argument text verbatim, in place of `input`. */
	readonly input_json?: string;
}

export const bash = (command: string): Call => ({ name: "bash", input: { command } });

export interface Scenario {
	readonly ws: Workspace;
	readonly ran: Ran;
	readonly agent: string;
	/** Results in order, as the model reads them. */
	readonly results: ReturnType<Workspace["results"]>;
}

export interface ScenarioOptions extends Omit<WorkspaceOptions, "script"> {
	/** Of `lernie run`. */
	readonly run?: RunOptions & { readonly flags?: readonly string[] };
	/** What the model says after the calls. */
	readonly after?: readonly Readonly<Record<string, unknown>>[];
}

/** An agent that makes these calls in one message and, once they are answered, says `done`. */
export const runCalls = async (
	tools: readonly Call[],
	{ run = {}, after = [{ say: "done" }], ...options }: ScenarioOptions = {},
): Promise<Scenario> => {
	const ws = await createWorkspace({ ...options, script: { calls: [{ tools }, ...after] } });
	const ran = await ws.run("do it", run);
	return { ws, ran, agent: ran.agent, results: ran.agent === "" ? [] : ws.results(ran.agent) };
};

/** A script whose end is not a failure. */
export const scriptPast = (past: NonNullable<Script["then"]>, calls: Script["calls"]): Script => ({
	calls,
	// biome-ignore lint/suspicious/noThenProperty: the contract's name; a script is data and never awaited
	then: past,
});

/** Whether nobody drives an agent. */
export const atRest = (ws: Workspace, agent: string): boolean =>
	spawnSync("flock", ["-n", "-x", ws.path("ws/inbox", agent), "true"]).status === 0;

/** Path of a file of a step's record, relative to the place. */
export const stepFile = (agent: string, step: string, ...parts: readonly string[]): string =>
	["ws", "steps", agent, step, ...parts].join("/");

/** Every line of a text that is JSON, parsed. */
export const jsonLines = (text: string): readonly Record<string, unknown>[] =>
	text
		.split("\n")
		.filter((line) => line.startsWith("{"))
		.map((line) => JSON.parse(line) as Record<string, unknown>);
