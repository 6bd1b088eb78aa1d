import type { Place } from "./place.ts";

export const PASS = '{"verdict":"pass"}';

/** A control in shell: logs each consult's request to `consults.log` in the place, then runs `body`. */
export const shellControl = (place: Place, body: string, name = "control"): string =>
	place.script(
		name,
		`#!/bin/sh\nrequest=$(cat)\nprintf '%s\\n' "$request" >> ${place.path("consults.log")}\n${body}\n`,
	);

/** A control that prints one fixed text and exits 0. */
export const sayingControl = (place: Place, text: string): string => {
	place.write("verdict.txt", text);
	return shellControl(place, `cat ${place.path("verdict.txt")}`);
};

/**
 * A control that answers by the tool's name: `answers` maps a name to a verdict line, others pass. The map lies in a file,
 * so that a test can change the answers between two drives with `answerWith`.
 */
export const tableControl = (place: Place, answers: Readonly<Record<string, string>>): string => {
	answerWith(place, answers);
	const node = `
const { appendFileSync, readFileSync } = require("node:fs");
const text = readFileSync(0, "utf8");
appendFileSync(${JSON.stringify(place.path("consults.log"))}, text + "\\n");
const answers = JSON.parse(readFileSync(${JSON.stringify(place.path("answers.json"))}, "utf8"));
const request = JSON.parse(text);
process.stdout.write(answers[request.id] ?? answers[request.name] ?? ${JSON.stringify(PASS)});
`;
	return place.script("control", `#!/usr/bin/env node\n${node}`);
};

export const answerWith = (place: Place, answers: Readonly<Record<string, string>>): void => {
	place.write("answers.json", JSON.stringify(answers));
};

/** The requests a control was shown so far, in order, as the bytes it got. */
export const consults = (place: Place): readonly string[] =>
	place.exists("consults.log")
		? place
				.read("consults.log")
				.split("\n")
				.filter((line) => line !== "")
		: [];

/** A tool that appends its own name (and `suffix`, shell text) to `ticks.log` and syncs it, so that runs can be counted. */
export const tickTool = (place: Place, name: string, more = ""): string =>
	place.tool(
		name,
		`#!/bin/sh\necho ${name} >> ${place.path("ticks.log")}\nsync -d ${place.path("ticks.log")}\n${more}\n`,
	);

export const ticks = (place: Place): readonly string[] =>
	place.exists("ticks.log")
		? place
				.read("ticks.log")
				.split("\n")
				.filter((line) => line !== "")
		: [];

/**
 * A control that passes every call but those of one id. Asked about that one it says in `control.ready` that it was, and
 * waits for ever; what it does at SIGTERM is shell text, and without one it dies of it.
 */
export const waitingControl = (place: Place, id: string, onTerm?: string): string => {
	const ready = `: > ${place.path("control.ready")}`;
	const wait =
		onTerm === undefined ? `${ready}; exec sleep 600` : `trap '${onTerm}' TERM; ${ready}; while :; do sleep 0.05; done`;
	return shellControl(place, `case "$request" in *'"id":"${id}"'*) ${wait};; esac\nprintf '%s' '${PASS}'`);
};
