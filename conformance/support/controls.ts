import type { Place } from "./place.ts";

export const PASS = '{"verdict":"pass"}';

/** The modes of a control, as the key `mode` of `tool_control` names them. */
export const MODES = ["once", "serve"] as const;
export type Mode = (typeof MODES)[number];

/** `say <verdict>` answers the request at hand; in mode `serve` it puts the id into the verdict. */
const SAY: Readonly<Record<Mode, string>> = {
	once: `say() { printf '%s' "$1"; }`,
	serve: `say() { id=\${request#*:\\"}; printf '%s,"id":"%s"}\\n' "\${1%?}" "\${id%%\\"*}"; }`,
};

/**
 * A control in shell for one of the modes: logs each consult's request to `consults.log` in the place, then runs `body`,
 * which finds it in `$request` and answers it with `say`.
 */
export const shellControl = (place: Place, body: string, name = "control", mode: Mode = "once"): string => {
	const asked = `printf '%s\\n' "$request" >> ${place.path("consults.log")}\n${body}\n`;
	const script = mode === "once" ? `request=$(cat)\n${asked}` : `while IFS= read -r request; do\n${asked}done\n`;
	return place.script(name, `#!/bin/sh\n${SAY[mode]}\n${script}`);
};

/** A control that prints one fixed text and exits 0. */
export const sayingControl = (place: Place, text: string): string => {
	place.write("verdict.txt", text);
	return shellControl(place, `cat ${place.path("verdict.txt")}`);
};

/**
 * A control for both modes that answers by the call's id or the tool's name: `answers` maps them to a verdict, others pass.
 * The map lies in a file, so that a test can change the answers between two drives with `answerWith`.
 */
export const tableControl = (place: Place, answers: Readonly<Record<string, string>>): string => {
	answerWith(place, answers);
	const node = `
const { appendFileSync, readFileSync } = require("node:fs");
const answer = (text) => {
	appendFileSync(${JSON.stringify(place.path("consults.log"))}, text + "\\n");
	const answers = JSON.parse(readFileSync(${JSON.stringify(place.path("answers.json"))}, "utf8"));
	const { id, name } = JSON.parse(text);
	return [id, answers[id] ?? answers[name] ?? ${JSON.stringify(PASS)}];
};
if (process.argv[2] === "serve") {
	let rest = "";
	process.stdin.setEncoding("utf8").on("data", (text) => {
		const lines = (rest + text).split("\\n");
		rest = lines.pop();
		for (const line of lines) {
			const [id, verdict] = answer(line);
			process.stdout.write(verdict.replace(/\\}$/, ',"id":' + JSON.stringify(id) + "}") + "\\n");
		}
	});
} else process.stdout.write(answer(readFileSync(0, "utf8"))[1]);
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
export const waitingControl = (place: Place, id: string, onTerm?: string, mode: Mode = "once"): string => {
	const ready = `: > ${place.path("control.ready")}`;
	const wait =
		onTerm === undefined ? `${ready}; exec sleep 600` : `trap '${onTerm}' TERM; ${ready}; while :; do sleep 0.05; done`;
	return shellControl(place, `case "$request" in *'"id":"${id}"'*) ${wait};; esac\nsay '${PASS}'`, "control", mode);
};
