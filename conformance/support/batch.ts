import { rmSync } from "node:fs";
import { PASS, shellControl } from "./controls.ts";
import { createPlace, type Place } from "./place.ts";
import type { Call } from "./scenario.ts";
import { createWorkspace, type Workspace, type WorkspaceOptions } from "./workspace.ts";

/** One call in a batch. */
export interface Invocation {
	readonly name: string;
	readonly input?: unknown;
}

export interface BatchOptions {
	readonly id?: string;
	readonly on_failure?: string;
	readonly execution?: string;
}

/** A call of `multi_tool`, under the id `t1` unless another is given. */
export const batch = (invocations: readonly Invocation[], { id = "t1", ...options }: BatchOptions = {}): Call => ({
	id,
	name: "multi_tool",
	input: { invocations, ...options },
});

/** Calls of tools by their names alone. */
export const named = (...names: readonly string[]): readonly Invocation[] => names.map((name) => ({ name }));

/** What `fileControl` answers from now on, by the id or the name of a call; the id comes first. */
export const answerCalls = (place: Place, answers: Readonly<Record<string, string>>): void => {
	rmSync(place.path("answers"), { recursive: true, force: true });
	for (const [key, answer] of Object.entries(answers)) place.write(`answers/${key}`, answer);
};

/** A control that passes whatever `answerCalls` has no answer for. A shell alone, so that a batch is asked about quickly. */
const fileControl = (place: Place, answers: Readonly<Record<string, string>>): string => {
	answerCalls(place, answers);
	const key = (field: string): string => `value=\${request#*'"${field}":"'}; value=\${value%%'"'*}`;
	const look = `[ -f "${place.path("answers")}/$value" ] && exec cat "${place.path("answers")}/$value"`;
	return shellControl(place, `${key("id")}; ${look}\n${key("name")}; ${look}\nprintf '%s' '${PASS}'`);
};

/** An external tool that notes that it ran, as `<name> <input>`, and then does `more`; its stdin is in `$input` then. */
export const noteTool = (place: Place, name: string, more = ""): string =>
	place.tool(
		name,
		`#!/bin/sh\ninput=$(cat)\nprintf '%s %s\\n' ${name} "$input" >> ${place.path("notes.log")}\n${more}\n`,
	);

/** What `noteTool`s noted, in order. */
export const notes = (place: Place): readonly string[] =>
	place.exists("notes.log") ? place.read("notes.log").trimEnd().split("\n") : [];

/** The tools that ran, in order. */
export const ranTools = (place: Place): readonly string[] => notes(place).map((line) => line.split(" ")[0] ?? "");

export interface BatchWorkspace extends Partial<Omit<WorkspaceOptions, "script" | "tools">> {
	/** Answers of the control, by id or name; all other calls pass. */
	readonly answers?: Readonly<Record<string, string>>;
	/** External tools with what they do besides noting that they ran; `alpha`, `beta` and `gamma` where absent. */
	readonly tools?: Readonly<Record<string, string>>;
	/** The worker's toolset besides `tools` and `multi_tool`. */
	readonly granted?: readonly string[];
	/** What the model says after the calls. */
	readonly after?: readonly Readonly<Record<string, unknown>>[];
}

const THREE = { alpha: "", beta: "", gamma: "" };

/** A workspace whose model makes these calls in one message and then says `done`. */
export const createBatchWorkspace = async (
	calls: readonly Call[],
	{ answers = {}, tools = THREE, granted = [], after = [{ say: "done" }], ...options }: BatchWorkspace = {},
): Promise<Workspace> => {
	const place = options.place ?? createPlace();
	for (const [name, more] of Object.entries(tools)) noteTool(place, name, more);
	return createWorkspace({
		...options,
		place,
		tools: [...Object.keys(tools), "multi_tool", ...granted],
		control: options.control ?? fileControl(place, answers),
		script: { calls: [{ tools: calls }, ...after] },
	});
};

export interface Section {
	readonly name: string;
	readonly status: string;
	readonly text: string;
}

/** An answer of `multi_tool`, read back: its first line, and each entry's section. */
export const sectionsOf = (text: string): { readonly tally: string; readonly sections: readonly Section[] } => {
	const [tally = ""] = text.split("\n", 1);
	const heads = [...text.matchAll(/^=== \[\d+\/\d+\] (.*): (ok|failed|declined|skipped) ===\n/gm)];
	const sections = heads.map((head, at) => ({
		name: head[1] ?? "",
		status: head[2] ?? "",
		text: text.slice(head.index + head[0].length, (heads[at + 1]?.index ?? text.length + 1) - 2),
	}));
	return { tally, sections };
};

/** The consults on record in a step: what the control was asked, and what it said. */
export const verdictsOf = (
	ws: Workspace,
	agent: string,
	step = "001",
): readonly { readonly id: string; readonly digest: string; readonly verdict: string; readonly program: string }[] => {
	const path = `ws/steps/${agent}/${step}/verdicts.jsonl`;
	if (!ws.exists(path)) return [];
	return ws
		.read(path)
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line) as ReturnType<typeof verdictsOf>[number]);
};

/** The ids a control was asked about, in order, from the requests it got. */
export const asked = (requests: readonly string[]): readonly string[] =>
	requests.map((line) => (JSON.parse(line) as { id: string }).id);
