import { ENV, type ModelRequest, type ProcessRecord, requestToJson } from "@lernie/contract";
import type { CommandRow } from "../../config/models-file.ts";
import { childEnvironment } from "../../process/environment.ts";
import { endGroup } from "../../process/group.ts";
import { processIdentity } from "../../process/identity.ts";
import { type ChildOutcome, runChild } from "../../process/run-child.ts";
import type { OutputSink } from "../../process/sink.ts";
import type { AdapterPlace, AttemptContext, ModelAdapter, ReceivedLine } from "../types.ts";
import { createLines } from "./lines.ts";
import { checkProgram, programFault } from "./program.ts";

interface Patience {
	/** From SIGTERM to SIGKILL. */
	readonly graceMs: number;
	/** How long a program may take to exit once it has nothing more to say. */
	readonly lingerMs: number;
}

const PATIENCE: Patience = { graceMs: 2000, lingerMs: 2000 };

const keyHint = ({ program }: CommandRow): string =>
	`give ${program} its key as it takes one, or in a variable that \`env\` of the row names in models.yaml`;

/** The environment of an attempt (CONTRACTS §5): the closed list, whose call it is, and what the row names. */
const environment = (row: CommandRow, { env, workspace, agent }: AdapterPlace): Record<string, string> =>
	childEnvironment(env, {
		names: row.env,
		values: { [ENV.convRepo]: workspace, ...(agent === undefined ? {} : { [ENV.convBranch]: agent }) },
	});

interface LogSink extends OutputSink {
	/** What writing the log threw; the stream was drained all the same. */
	fault(): unknown;
}

const createLog = (log: AttemptContext["log"], onFault: () => void): LogSink => {
	let fault: unknown;
	return {
		write(chunk) {
			if (fault !== undefined) return;
			try {
				log(chunk);
			} catch (thrown) {
				fault = thrown;
				onFault();
			}
		},
		end: () => undefined,
		fault: () => fault,
	};
};

const describe = (end: ChildOutcome, hung: boolean): string => {
	if (hung) return "it closed its output and did not exit";
	switch (end.kind) {
		case "exited":
			return `exit code ${end.code}`;
		case "signalled":
			return `signal ${end.signal}`;
		case "not-started":
		case "timed-out":
			return end.kind;
		default:
			return end satisfies never;
	}
};

async function* runAttempt(
	row: CommandRow,
	place: AdapterPlace,
	request: ModelRequest,
	{ stop, decided, log, ended }: AttemptContext,
	{ graceMs, lingerMs }: Patience,
): AsyncGenerator<ReceivedLine> {
	const ender = new AbortController();
	const end = (): void => ender.abort();
	let lingering: NodeJS.Timeout | undefined;
	const linger = (): void => {
		lingering ??= setTimeout(end, lingerMs);
	};
	const lines = createLines();
	const stderr = createLog(log, end);
	let group: ProcessRecord | undefined;
	let forget = (): void => undefined;
	stop.addEventListener("abort", end);
	decided.addEventListener("abort", linger);
	if (stop.aborted) end();
	const running = runChild({
		program: row.program,
		args: ["--json", "--provider", row.provider],
		env: environment(row, place),
		cwd: place.workspace,
		stdin: requestToJson(request),
		stdout: lines,
		stderr,
		graceMs,
		stop: ender.signal,
		onSpawned: (pid) => {
			group = processIdentity(pid);
			if (group !== undefined) forget = place.track(group);
		},
	});
	// It is awaited below; what it rejects with while a line is being read is not lost.
	running.catch(() => undefined);
	try {
		let torn = false;
		for await (const line of lines) {
			torn = line.torn;
			yield line;
		}
		linger();
		const outcome = await running;
		if (outcome.kind === "not-started") throw programFault(row, outcome);
		const fault = stderr.fault();
		if (fault !== undefined) throw fault;
		ended(`${torn ? "inside a line, " : ""}${describe(outcome, ender.signal.aborted)}`);
	} finally {
		end();
		lines.discard();
		await running.catch(() => undefined);
		clearTimeout(lingering);
		stop.removeEventListener("abort", end);
		decided.removeEventListener("abort", linger);
		// What the program left in its group has nobody to answer to.
		if (group === undefined || (await endGroup(group, graceMs))) forget();
	}
}

/**
 * A program that is the model (`spec/tools.md` §18): a process of its own for every attempt, the request on its stdin, a
 * stream of events on its stdout. Its exit code says nothing; nothing of its group outlives the attempt.
 * An attempt throws `MODEL_COMMAND` where the program cannot be started, and `DISK`.
 */
export const createCommandAdapter = (row: CommandRow, place: AdapterPlace, patience = PATIENCE): ModelAdapter => ({
	row: row.row,
	keyHint: keyHint(row),
	check: async () => checkProgram(row),
	attempt: (request, context) => runAttempt(row, place, request, context, patience),
});
