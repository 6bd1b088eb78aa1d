import { DIGEST_SHOWN, type ExitCode, exitCodeOf, LernieError, type RunEvent } from "@lernie/contract";
import { type DriveEnd, type DriveOptions, drive } from "../drive/drive.ts";
import type { DriveContext } from "../drive/session.ts";
import type { Output } from "./output.ts";
import { printable } from "./printable.ts";

/** What a person is told when a drive rests before a final answer, or undefined. */
const endMessage = (agent: string, end: DriveEnd): string | undefined => {
	const reason = printable(end.message ?? "");
	switch (end.exit) {
		case 10:
			return `HELD: ${reason}. \`lernie held\` shows the call and how to answer; then \`lernie advance ${agent}\` goes on`;
		case 12:
			return `LIMIT: ${reason}. A message to the agent starts a new count: \`lernie message ${agent} "go on"\``;
		case 14:
			return `CONTROL FAULT: ${reason}. The call did not run. Repair the control, then \`lernie advance ${agent}\` asks it again`;
		default:
			return undefined;
	}
};

/** Drives an agent, shows it, and says how it ended; the exit code is the drive's (CONTRACTS §1). */
export const driveAndReport = async (
	context: DriveContext,
	options: DriveOptions,
	output: Output,
	render: (event: RunEvent) => void,
): Promise<ExitCode> => {
	try {
		const end = await drive(context, options);
		render({ type: "end", state: end.state, exit: end.exit });
		const message = endMessage(options.agent, end);
		if (message !== undefined) output.say(message);
		return end.exit;
	} catch (thrown) {
		if (thrown instanceof LernieError) render({ type: "end", state: "failed", exit: exitCodeOf(thrown) });
		throw thrown;
	}
};

export const shortDigest = (digest: string): string => digest.slice(0, DIGEST_SHOWN);
