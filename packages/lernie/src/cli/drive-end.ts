import { DIGEST_SHOWN } from "@lernie/contract";
import type { DriveEnd } from "../drive/drive.ts";
import { printable } from "./printable.ts";

/** What a person is told when a drive rests before a final answer, or undefined. */
export const endMessage = (agent: string, end: DriveEnd): string | undefined => {
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

export const shortDigest = (digest: string): string => digest.slice(0, DIGEST_SHOWN);
