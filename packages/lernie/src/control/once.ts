import { type CallFacts, ENV, type ProcessRecord, requestText, VERDICT_MAX_BYTES } from "@lernie/contract";
import type { CommandControl } from "../config/workflow.ts";
import { childEnvironment } from "../process/environment.ts";
import { endGroup } from "../process/group.ts";
import { processIdentity } from "../process/identity.ts";
import { type ChildOutcome, runChild } from "../process/run-child.ts";
import { createLimit, type LimitSink } from "../process/sink.ts";
import { adjudicated, endedBy, late, notAVerdict, notStarted, rulingOf, STDERR_BYTES } from "./answer.ts";
import type { Adjudication, ControlContext, Question, Ruling } from "./types.ts";

const GRACE_MS = 2000;

/** The environment of a consult (CONTRACTS §§3, 5): who calls, and what would run. */
export const onceEnvironment = (
	config: CommandControl,
	context: Pick<ControlContext, "env" | "workspace">,
	{ agent, program, sha256, confined }: CallFacts & { readonly agent: string },
): Record<string, string> =>
	childEnvironment(context.env, {
		names: config.env,
		values: {
			[ENV.convRepo]: context.workspace,
			[ENV.convBranch]: agent,
			[ENV.toolProgram]: program,
			...(sha256 === undefined ? {} : { [ENV.toolSha256]: sha256 }),
			...(confined ? { [ENV.confined]: "1" } : {}),
		},
	});

/** What its stdout is worth by itself, however it ended. */
const answerOf = (stdout: LimitSink): Ruling =>
	stdout.overflowed()
		? notAVerdict(`longer than ${VERDICT_MAX_BYTES} bytes`, stdout.bytes())
		: rulingOf(stdout.bytes());

/** The ruling of a control that ended: a verdict, or the reason why there is none (`spec/tools.md` §12.3). */
const ruling = (end: ChildOutcome, config: CommandControl, answer: Ruling, stderr: LimitSink): Ruling => {
	switch (end.kind) {
		case "not-started":
			return notStarted(config, end.message);
		case "timed-out":
			return late(config);
		case "signalled":
			return endedBy(end, stderr.bytes());
		case "exited":
			return end.code === 0 ? answer : endedBy(end, stderr.bytes());
		default:
			return end satisfies never;
	}
};

/** What came of one run of a control. */
export interface Once {
	readonly ruling: Ruling;
	/** What its stdout is worth by itself, however it ended. */
	readonly answer: Ruling;
	readonly end: ChildOutcome;
	/** Its stdout, up to the limit. */
	readonly said: Buffer;
}

/** Runs a control once with `text` on its stdin and judges what it did. Rejects only with what tracking its group threw. */
export const runOnce = async (
	config: CommandControl,
	context: ControlContext,
	text: string,
	env: Readonly<Record<string, string>>,
): Promise<Once> => {
	const { crash } = context.effects;
	const stdout = createLimit({ maxBytes: VERDICT_MAX_BYTES });
	const stderr = createLimit({ maxBytes: STDERR_BYTES });
	let group: ProcessRecord | undefined;
	let forget = (): void => undefined;
	const end = await runChild({
		program: config.command,
		args: [],
		env,
		cwd: context.workspace,
		stdin: text,
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
	const answer = answerOf(stdout);
	const ruled = ruling(end, config, answer, stderr);
	// A control that failed must not go on acting in the background.
	if (ruled.verdict === "fault" && group !== undefined) await endGroup(group, GRACE_MS);
	forget();
	return { ruling: ruled, answer, end, said: stdout.bytes() };
};

const consult = async (config: CommandControl, context: ControlContext, question: Question): Promise<Adjudication> => {
	const { call, caller } = question;
	const env = onceEnvironment(config, context, { ...question, agent: caller.agent });
	const { ruling: ruled, end } = await runOnce(config, context, requestText(call, caller), env);
	return { ...ruled, ms: end.ms };
};

/**
 * Asks a `command` control in mode `once` (CONTRACTS §3): one process, the request on its stdin, one verdict on its
 * stdout. Never rejects and never makes a pass of its own: a pass is what `parseVerdict` read.
 */
export const consultOnce = (
	config: CommandControl,
	context: ControlContext,
	question: Question,
): Promise<Adjudication> => adjudicated(config, question, consult(config, context, question));
