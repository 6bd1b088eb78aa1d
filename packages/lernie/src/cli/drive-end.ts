import { EXIT, type ExitCode, exitCodeOf, LernieError, type RunEvent } from "@lernie/contract";
import { shellQuoted } from "../control/ask.ts";
import type { DriveEnd, DriveOptions } from "../drive/drive.ts";
import type { DriveContext } from "../drive/session.ts";
import type { Output } from "./output.ts";
import { printable } from "./printable.ts";

type Render = (event: RunEvent) => void;

/** What a person is told when a drive rests before a final answer, with the command that goes on; or undefined. */
const endMessage = (workspace: string, agent: string, end: DriveEnd): string | undefined => {
	const lernie = `lernie -w ${shellQuoted(workspace)}`;
	const reason = printable(end.message ?? "");
	if (end.state === "running") return `another process drives ${agent}`;
	switch (end.exit) {
		case EXIT.held:
			return `HELD: ${reason}. \`${lernie} held\` shows the call and how to answer; then \`${lernie} advance ${agent}\` goes on`;
		case EXIT.stopped:
			return `STOPPED: ${reason}. \`${lernie} advance ${agent}\` goes on; so does a message`;
		case EXIT.limit:
			return `LIMIT: ${reason}. \`${lernie} message ${agent} "go on"\``;
		case EXIT.controlFault:
			// Nothing is parked: what was left out of the batch has its answer.
			if (end.state === "failed")
				return `${reason}. Repair the control, then \`${lernie} advance ${agent}\` goes on behind the calls it left out`;
			return `${reason}. Repair the control, then \`${lernie} advance ${agent}\` asks it again`;
		default:
			return undefined;
	}
};

const report = (workspace: string, agent: string, end: DriveEnd, output: Output, render: Render): ExitCode => {
	render({ type: "end", state: end.state, exit: end.exit });
	const message = endMessage(workspace, agent, end);
	if (message !== undefined) output.say(message);
	return end.exit;
};

/** Says that there is nothing to do here, as another process drives the agent. */
export const reportDriven = (workspace: string, agent: string, output: Output, render: Render): ExitCode =>
	report(workspace, agent, { state: "running", exit: EXIT.done, message: undefined }, output, render);

/** Drives an agent, shows it, and says how it ended; the exit code is the drive's (CONTRACTS §1). */
export const driveAndReport = async (
	context: DriveContext,
	options: DriveOptions,
	output: Output,
	render: Render,
): Promise<ExitCode> => {
	try {
		// Loaded here: a driver that comes second does not pay for it.
		const { drive } = await import("../drive/drive.ts");
		const end = await drive(context, options);
		return report(context.layout.root, options.agent, end, output, render);
	} catch (thrown) {
		if (thrown instanceof LernieError) render({ type: "end", state: "failed", exit: exitCodeOf(thrown) });
		throw thrown;
	}
};
