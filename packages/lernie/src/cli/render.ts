import { type RunEvent, runEventToJson } from "@lernie/contract";
import type { Output } from "./output.ts";
import { excerpt, printable } from "./printable.ts";

const SHOWN = 160;

const WORDS: Readonly<Record<(RunEvent & { type: "verdict" })["verdict"], string>> = {
	pass: "pass",
	refuse: "REFUSED",
	hold: "HELD",
	fault: "CONTROL FAULT",
	none: "UNCONTROLLED",
	ungranted: "not in its toolset",
	unusable: "unusable arguments",
	stopped: "stopped",
	unknown: "unknown",
	"not-started": "not started",
};

/**
 * Shows a drive while it runs. With `--json` every event is a line on stdout; else one line a tool call goes to stderr, and
 * the assistant's text to stdout where it is the verb's product, else to stderr too.
 */
export const createRenderer = (output: Output, textToStdout: boolean): ((event: RunEvent) => void) => {
	if (output.json) return (event) => output.product(`${runEventToJson(event)}\n`);
	const calls = new Map<string, string>();
	const held = new Map<string, string>();
	let open = false;
	const write = textToStdout ? output.product : output.prose;
	const closeText = (): void => {
		if (open) write("\n");
		open = false;
	};
	return (event) => {
		if (event.type !== "text") closeText();
		switch (event.type) {
			case "agent":
				return output.say(`agent ${event.id} ${event.name}`);
			case "text":
				write(event.text);
				open = !event.text.endsWith("\n");
				return;
			case "call":
				calls.set(event.id, `${printable(event.name)} ${excerpt(event.input, SHOWN)}`);
				return;
			case "verdict": {
				// A parked call ends the drive, and what is said then gives the reason.
				if (event.verdict === "hold") held.set(event.id, event.reason ?? "");
				else held.delete(event.id);
				const parked = event.verdict === "hold" || event.verdict === "fault";
				const reason = event.reason === null || parked ? "" : `: ${excerpt(event.reason, SHOWN * 2)}`;
				return output.say(`  ${calls.get(event.id) ?? printable(event.id)}  ${WORDS[event.verdict]}${reason}`);
			}
			case "result": {
				// A held call that has a result all the same was one of a batch.
				const reason = held.get(event.id);
				if (reason !== undefined) output.say(`    declined, a batch does not wait: ${excerpt(reason, SHOWN * 2)}`);
				if (event.exit_code !== null && event.exit_code !== 0)
					output.say(`    exit ${event.exit_code} after ${event.ms} ms`);
				return;
			}
			case "retry":
				return output.say(
					`model call failed (${printable(event.error)}); attempt ${event.attempt + 1} in ${event.delay_ms} ms`,
				);
			case "notice":
				return output.say(printable(event.message));
			case "end":
				return;
			default:
				return event satisfies never;
		}
	};
};
