import { dirname, join } from "node:path";
import { LAUNCHER, type Place } from "./place.ts";
import type { Held } from "./window.ts";
import type { Workspace } from "./workspace.ts";

const SHIPPED = join(dirname(LAUNCHER), "lernie-control-ask.cjs");

/**
 * The control that ships, which holds a call until its answer lies in `approved/`, behind one that passes `tick` by itself.
 * Every consult is logged as the request's id.
 */
export const answeredControl = (place: Place): string =>
	place.script(
		"control",
		`#!/bin/sh
request=$(cat)
printf '%s\\n' "$request" >> ${place.path("consults.log")}
case "$request" in *'"name":"tick"'*) printf '%s' '{"verdict":"pass"}'; exit 0;; esac
printf '%s' "$request" | ${SHIPPED}
`,
	);

/** A person's answer to a held call. */
export const approve = (ws: Workspace, { digest }: Pick<Held, "digest">): void => {
	ws.write(`ws/approved/${digest}`, "");
};

/** A tool that logs for whom it ran and with what, so that starts can be counted. */
export const loggingTool = (place: Place, name: string): string =>
	place.tool(
		name,
		`#!/bin/sh\nread -r input\necho "$LERNIE_CONV_BRANCH ${name} $input" >> ${place.path("starts.log")}\n`,
	);

/** What logging tools ran, as `<agent> <tool> <input>`, in order. */
export const startsIn = (place: Place): readonly string[] =>
	place.exists("starts.log") ? place.read("starts.log").trimEnd().split("\n") : [];
