import { ENV, messageOf, type ProcessRecord, parseVerdict, requestText, VERDICT_MAX_BYTES } from "@lernie/contract";
import type { ControlConfig } from "../config/workflow.ts";
import { childEnvironment } from "../process/environment.ts";
import { endGroup } from "../process/group.ts";
import { processIdentity } from "../process/identity.ts";
import { type ChildOutcome, runChild } from "../process/run-child.ts";
import { createLimit, type LimitSink } from "../process/sink.ts";
import type { Adjudication, ControlContext, Question, Ruling } from "./types.ts";

type Command = ControlConfig & { readonly kind: "command" };

const STDERR_BYTES = 4096;
/** How much of an answer that is none a fault quotes. */
const QUOTED_BYTES = 1024;
const GRACE_MS = 2000;

const excerpt = (bytes: Buffer): string => bytes.subarray(0, QUOTED_BYTES).toString("utf8").trim();

/** The environment of a consult (CONTRACTS §§3, 5): who calls, and what would run. */
const environment = (config: Command, context: ControlContext, question: Question): Record<string, string> =>
	childEnvironment(context.env, {
		names: config.env,
		values: {
			[ENV.convRepo]: context.workspace,
			[ENV.convBranch]: question.caller.agent,
			[ENV.toolProgram]: question.program,
			...(question.sha256 === undefined ? {} : { [ENV.toolSha256]: question.sha256 }),
			...(question.confined ? { [ENV.confined]: "1" } : {}),
		},
	});

/** The ruling of a control that ended: a verdict, or the reason why there is none (`spec/tools.md` §12.3). */
const ruling = (end: ChildOutcome, config: Command, stdout: LimitSink, stderr: LimitSink): Ruling => {
	const fault = (detail: string): Ruling => ({ verdict: "fault", detail });
	switch (end.kind) {
		case "not-started":
			return fault(`spawn control ${JSON.stringify(config.command)}: ${end.message}`);
		case "timed-out":
			return fault(`no answer within ${config.timeoutSeconds} s`);
		case "signalled":
			return fault(`terminated by signal ${end.number}`);
		case "exited": {
			if (end.code !== 0) return fault(`exited ${end.code}; stderr: ${stderr.bytes().toString("utf8").trim()}`);
			const answer = stdout.bytes();
			const none = (why: string): Ruling => fault(`stdout is not a verdict (${why}): ${excerpt(answer)}`);
			if (stdout.overflowed()) return none(`longer than ${VERDICT_MAX_BYTES} bytes`);
			const parsed = parseVerdict(answer);
			return parsed.ok ? parsed.verdict : none(parsed.why);
		}
		default:
			return end satisfies never;
	}
};

const consult = async (config: Command, context: ControlContext, question: Question): Promise<Adjudication> => {
	const { crash } = context.effects;
	const stdout = createLimit({ maxBytes: VERDICT_MAX_BYTES });
	const stderr = createLimit({ maxBytes: STDERR_BYTES });
	let group: ProcessRecord | undefined;
	let forget = (): void => undefined;
	const end = await runChild({
		program: config.command,
		args: [],
		env: environment(config, context, question),
		cwd: context.workspace,
		stdin: requestText(question.call, question.caller),
		stdout,
		stderr,
		timeoutMs: config.timeoutSeconds * 1000,
		graceMs: GRACE_MS,
		// While somebody can still write to it the answer is not complete, whatever has been read by then.
		pipeGraceMs: config.timeoutSeconds * 1000 + GRACE_MS,
		stop: context.stop,
		onSpawned: (pid) => {
			group = processIdentity(pid);
			if (group !== undefined) forget = context.track(group);
			crash("consult.sent");
		},
	});
	crash("consult.answered");
	const ruled = ruling(end, config, stdout, stderr);
	// A control that failed must not go on acting in the background.
	if (ruled.verdict === "fault" && group !== undefined) await endGroup(group, GRACE_MS);
	forget();
	return { ...ruled, ms: end.ms };
};

/**
 * Asks a `command` control in mode `once` (CONTRACTS §3): one process, the request on its stdin, one verdict on its
 * stdout. Never rejects and never makes a pass of its own: a pass is what `parseVerdict` read.
 */
export const consultOnce = async (
	config: Command,
	context: ControlContext,
	question: Question,
): Promise<Adjudication> => {
	const answer = await consult(config, context, question).catch(
		(thrown: unknown): Adjudication => ({ verdict: "fault", detail: messageOf(thrown), ms: 0 }),
	);
	if (answer.verdict !== "fault") return answer;
	const asked = `control ${JSON.stringify(config.command)} could not judge the call of ${JSON.stringify(question.call.name)}`;
	return { ...answer, detail: `${asked}, which was not run: ${answer.detail}` };
};
