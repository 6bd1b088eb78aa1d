import { type AskedLine, messageOf, parseVerdict } from "@lernie/contract";
import type { CommandControl } from "../config/workflow.ts";
import type { ChildExit } from "../process/start.ts";
import type { Adjudication, Question, Ruling } from "./types.ts";

/** How much of a control's stderr is kept (CONTRACTS §3). */
export const STDERR_BYTES = 4096;
/** How much of what a control wrote a fault quotes. */
const QUOTED_BYTES = 1024;

export const fault = (detail: string): Ruling => ({ verdict: "fault", detail });

export const excerpt = (bytes: Buffer): string => bytes.subarray(0, QUOTED_BYTES).toString("utf8").trim();

export const notAVerdict = (why: string, bytes: Buffer): Ruling =>
	fault(`stdout is not a verdict (${why}): ${excerpt(bytes)}`);

/** A whole answer as a ruling; `asked` for a line of a control that stays. */
export const rulingOf = (bytes: Buffer, asked?: AskedLine): Ruling => {
	const parsed = parseVerdict(bytes, asked);
	return parsed.ok ? parsed.verdict : notAVerdict(parsed.why, bytes);
};

export const notStarted = ({ command }: CommandControl, why: string): Ruling =>
	fault(`spawn control ${JSON.stringify(command)}: ${why}`);

export const late = ({ timeoutSeconds }: Pick<CommandControl, "timeoutSeconds">): Ruling =>
	fault(`no answer within ${timeoutSeconds} s`);

/** A process that ended without an answer that counts. */
export const endedBy = (exit: ChildExit, stderr: Buffer): Ruling =>
	exit.kind === "signalled"
		? fault(`terminated by signal ${exit.number}`)
		: fault(`exited ${exit.code}; stderr: ${stderr.toString("utf8").trim() || "(empty)"}`);

/** What a consult came to. Never rejects; a fault names the control and the tool, and says that the call was not run. */
export const adjudicated = async (
	{ command }: CommandControl,
	{ call }: Question,
	asking: Promise<Adjudication>,
): Promise<Adjudication> => {
	const answer = await asking.catch((thrown: unknown): Adjudication => ({ ...fault(messageOf(thrown)), ms: 0 }));
	if (answer.verdict !== "fault") return answer;
	const asked = `control ${JSON.stringify(command)} could not judge the call of ${JSON.stringify(call.name)}`;
	return { ...answer, detail: `${asked}, which was not run: ${answer.detail}` };
};
