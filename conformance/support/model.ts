import { readdirSync } from "node:fs";
import { stringify } from "yaml";
import { createPlace, type Place } from "./place.ts";
import { createWorkspace, type Workspace, type WorkspaceOptions } from "./workspace.ts";

/** An event, or a line as it is sent. */
export type Sent = string | Readonly<Record<string, unknown>>;

export const begin = { type: "message_start", v: 1, role: "assistant", id: "m", model: "model-a" };
export const end = { type: "end" };
export const finish = [{ type: "finish", reason: "stop" }, end];
export const say = (text: string, index = 0): readonly Sent[] => [
	{ type: "content_start", index, kind: { text: {} } },
	{ type: "content_delta", index, delta: { text_delta: text } },
	{ type: "content_stop", index },
];
export const callTool = (id: string, name: string, input: unknown, index = 0): readonly Sent[] => [
	{ type: "content_start", index, kind: { tool_use: { id, name } } },
	{ type: "content_delta", index, delta: { json_delta: JSON.stringify(input) } },
	{ type: "content_stop", index },
];
export const answer = (text: string): readonly Sent[] => [begin, ...say(text), ...finish];
export const failure = (kind: unknown, more: object = {}): readonly Sent[] => [
	begin,
	{ type: "error", kind, message: "no luck", ...more },
	end,
];

export const linesOf = (sent: readonly Sent[]): string =>
	sent.map((item) => `${typeof item === "string" ? item : JSON.stringify(item)}\n`).join("");

/** What one run of the program was given. */
export interface Attempt {
	readonly args: readonly string[];
	readonly stdin: string;
	readonly cwd: string;
	readonly env: Readonly<Record<string, string>>;
	/** Session and group as the kernel tells them, and the program's own pid. */
	readonly ids: { readonly pid: number; readonly group: number; readonly session: number };
}

const count = (place: Place, prefix: string): number =>
	readdirSync(place.path("model")).filter((name) => name.startsWith(prefix)).length;

/** What the program was given so far, one entry a run. */
export const attemptsOf = (place: Place): readonly Attempt[] =>
	Array.from({ length: count(place, "args.") }, (_, at) => {
		const read = (name: string): string => place.read(`model/${name}.${at + 1}`);
		const [pid = 0, group = 0, session = 0] = read("ids").trim().split(" ").map(Number);
		const variables = read("env")
			.split("\0")
			.filter((line) => line !== "")
			.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)] as const);
		return {
			args: read("args").split("\n").slice(0, -1),
			stdin: read("stdin"),
			cwd: read("cwd").trimEnd(),
			env: Object.fromEntries(variables),
			ids: { pid, group, session },
		};
	});

/** Shell text with which a model of a test begins: notes what it was given; `$n` counts its runs, `$here` is its place. */
const noteGiven = (place: Place): string => `#!/bin/bash
here=${place.path("model")}
n=1; while [ -e $here/args.$n ]; do n=$((n + 1)); done
printf '%s\\n' "$@" > $here/args.$n
cat /proc/$$/environ > $here/env.$n
cut -d' ' -f1,5,6 /proc/$$/stat > $here/ids.$n
pwd > $here/cwd.$n
cat > $here/stdin.$n
`;

/** An executable at `model/program` that notes what it was given and then runs `body`, shell text. */
export const shellModel = (place: Place, body: string): string => {
	place.write("model/.keep", "");
	return place.script("model/program", `${noteGiven(place)}${body}\n`);
};

/** The body of a program that sends what `sends` set for this run. */
export const SENDS = "cat $here/sent.$n";

/** Sets what such a program sends at each of its next runs; past the last it sends nothing. */
export const sends = (place: Place, runs: readonly (readonly Sent[] | string)[]): void => {
	const from = place.exists("model") ? count(place, "args.") : 0;
	for (const [at, sent] of runs.entries())
		place.write(`model/sent.${from + at + 1}`, typeof sent === "string" ? sent : linesOf(sent));
};

export const writeModels = (place: Place, rows: Readonly<Record<string, unknown>>): string =>
	place.write("home/models.yaml", stringify({ providers: rows }));

/** A workspace whose worker is played by a program: the row `own`, with further keys of it. */
export const createModelled = async (
	program: (place: Place) => string,
	{ row = {}, ...options }: Partial<WorkspaceOptions> & { readonly row?: Readonly<Record<string, unknown>> } = {},
): Promise<Workspace> => {
	const place = options.place ?? createPlace();
	writeModels(place, { own: { adapter: "command", command: program(place), ...row } });
	return createWorkspace({ script: { calls: [] }, role: { provider: "own" }, ...options, place });
};

/** A workspace whose model sends these lines, a list a run. */
export const createSending = (
	runs: readonly (readonly Sent[] | string)[],
	options: Parameters<typeof createModelled>[1] = {},
): Promise<Workspace> =>
	createModelled((place) => {
		sends(place, runs);
		return shellModel(place, SENDS);
	}, options);
