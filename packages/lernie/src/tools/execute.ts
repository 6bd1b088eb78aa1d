import { statSync } from "node:fs";
import { ENV, LernieError, type ToolCall } from "@lernie/contract";
import { type Captured, type CaptureLimits, captureBuffer, createCollector } from "../process/collector.ts";
import type { Environment } from "../process/environment.ts";
import { endMarked } from "../process/group.ts";
import { processIdentity } from "../process/identity.ts";
import { type ChildEnd, runChild } from "../process/run-child.ts";
import { type Effects, timestamp } from "../workspace/effects.ts";
import { boundStream } from "./bound.ts";
import { BUILTINS, unknownTool } from "./builtin/pool.ts";
import type { BuiltinOutcome, ToolServices } from "./builtin/types.ts";
import { toolEnvironment } from "./call-environment.ts";
import { exitHeader, renderEnvelope, timeoutHeader } from "./envelope.ts";
import type { HostTools } from "./host.ts";
import { type CallRecord, openRecord } from "./record.ts";
import { changedSince, type ResolvedTool } from "./resolve.ts";
import type { Command, Sandbox } from "./sandbox.ts";

/** Everything a call is run with. */
export interface ToolContext {
	/** Root of the workspace, absolute. */
	readonly workspace: string;
	readonly agent: string;
	/** Name of the step's directory, e.g. `004`. */
	readonly step: string;
	readonly stepDirectory: string;
	readonly cwd: string;
	/** Name of the call's record directory, where it is not the one that its id gives. */
	readonly directory?: string;
	/** The driver's environment; tools get a closed list out of it. */
	readonly env: Environment;
	/** Names the operator added to that list (`tool_env`). */
	readonly toolEnv: readonly string[];
	readonly bound: CaptureLimits;
	readonly timeoutSeconds?: number | undefined;
	/** From SIGTERM to SIGKILL of a tool's group (`tool_grace_seconds`); 2 where absent. */
	readonly graceSeconds?: number | undefined;
	/** Ends the running tool's group; the caller knows that it set it. */
	readonly stop?: AbortSignal | undefined;
	readonly services: ToolServices;
	/** Asked once the start is on disk and before anything acts; rejects where this process may not start calls any more. */
	readonly confirmStart: () => Promise<void>;
	readonly effects: Pick<Effects, "now" | "crash">;
	readonly host?: HostTools | undefined;
	readonly sandbox?: Sandbox | undefined;
}

export type ToolOutcome =
	| {
			readonly kind: "answered";
			/** What the model reads. */
			readonly text: string;
			readonly isError: boolean;
			/** Null where a time limit ended it. */
			readonly exitCode: number | null;
			readonly ms: number;
			/** Size of both streams, before they were bounded. */
			readonly bytes: number;
	  }
	| { readonly kind: "not-started"; readonly why: string }
	/** The stop came before its answer: it was ended, or not started at all. */
	| { readonly kind: "stopped"; readonly started: boolean };

interface Ended {
	readonly header: string;
	readonly exitCode: number | null;
	readonly stdout: Captured;
	readonly stderr: Captured;
	readonly ms: number;
}

const GRACE_SECONDS = 2;

const isDirectory = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** A program to start with what goes to its stdin, or the answer of a tool that needs none. */
type Prepared = BuiltinOutcome & { readonly stdin?: string };

const prepare = async (
	call: ToolCall,
	tool: ResolvedTool,
	context: ToolContext,
	env: Record<string, string>,
): Promise<Prepared> => {
	const { cwd, services, effects } = context;
	if (tool.kind === "host") {
		const routed = await context.host?.route(call);
		return routed === undefined ? unknownTool(call.name) : { kind: "answer", ...routed };
	}
	if (tool.kind === "external" && tool.path !== undefined)
		return { kind: "run", command: { program: tool.path, args: [], env, cwd }, stdin: call.input };
	const builtin = tool.kind === "builtin" ? BUILTINS.get(tool.name) : undefined;
	if (builtin === undefined) return unknownTool(call.name);
	return builtin(call.input, { cwd, env, services, shell: tool.path, crash: effects.crash });
};

/** How a started process counts: an exit code, 128+n for the shell's death by a signal, a time limit, or a fault. */
const verdictOn = (
	end: ChildEnd & { kind: "exited" | "signalled" | "timed-out" },
	tool: ResolvedTool,
): Pick<Ended, "header" | "exitCode"> => {
	switch (end.kind) {
		case "exited":
			return { header: exitHeader(end.code), exitCode: end.code };
		case "timed-out":
			return { header: timeoutHeader(end.timeoutMs / 1000), exitCode: null };
		case "signalled": {
			if (tool.kind === "builtin") return { header: exitHeader(128 + end.number), exitCode: 128 + end.number };
			const data = { tool: tool.name, signal: end.signal };
			throw new LernieError("TOOL_KILLED", `tool ${tool.name}: killed by signal ${end.number} (${end.signal})`, data);
		}
		default:
			return end satisfies never;
	}
};

const complete = (collected: Captured): Captured => {
	if (collected.fault === undefined) return collected;
	const path = collected.file ?? "";
	throw new LernieError("TOOL_RECORD", `${path}: the output of a call could not be kept`, { path }, collected.fault);
};

const start = async (
	command: Command,
	stdin: string | undefined,
	tool: ResolvedTool,
	context: ToolContext,
	record: CallRecord,
): Promise<Ended | ToolOutcome> => {
	const { bound, effects, timeoutSeconds, graceSeconds = GRACE_SECONDS, stop } = context;
	const stdout = createCollector({ ...bound, spillPath: record.fileOf("stdout") });
	const stderr = createCollector({ ...bound, spillPath: record.fileOf("stderr") });
	const end = await runChild({
		...(context.sandbox?.wrap(command) ?? command),
		...(stdin === undefined ? {} : { stdin }),
		stdout,
		stderr,
		...(timeoutSeconds === undefined ? {} : { timeoutMs: timeoutSeconds * 1000 }),
		graceMs: graceSeconds * 1000,
		stop,
		onSpawned: (pid) => {
			effects.crash("tool.spawned");
			const identity = processIdentity(pid);
			if (identity !== undefined) record.process(identity);
			effects.crash("tool.process");
		},
	});
	if (end.kind === "not-started")
		return stop?.aborted ? { kind: "stopped", started: false } : { kind: "not-started", why: end.message };
	effects.crash("tool.exited");
	// What left the group still carries the call's mark, and must not outlive the call's end either.
	if (end.kind === "timed-out" || stop?.aborted) {
		// The value whole: `t1-1` also begins the mark of `t1-10`, which may run beside it.
		const own = command.env[ENV.call] ?? "";
		const accept = (value: string): boolean => value === own;
		await endMarked({ name: ENV.call, valuePrefix: own }, { graceMs: graceSeconds * 1000, accept });
	}
	if (end.kind === "signalled" && stop?.aborted) return { kind: "stopped", started: true };
	const ended = verdictOn(end, tool);
	return { ...ended, stdout: complete(stdout.captured()), stderr: complete(stderr.captured()), ms: end.ms };
};

/** Writes `output.json` and makes the text the model reads. */
const report = (ended: Ended, startedAt: Date, context: ToolContext, record: CallRecord): ToolOutcome => {
	const { bound, agent, step, effects } = context;
	const { stdout, stderr, header, exitCode, ms } = ended;
	const path = `steps/${agent}/${step}/tools/${record.directory}/output.json`;
	const shown = {
		stdout: boundStream(stdout, bound, "stdout", path),
		stderr: boundStream(stderr, bound, "stderr", path),
	};
	record.output({
		stdout: (stdout.whole ?? shown.stdout).toString("utf8"),
		stderr: (stderr.whole ?? shown.stderr).toString("utf8"),
		exit_code: exitCode,
		started_at: timestamp(startedAt),
		ended_at: timestamp(effects.now()),
		...(stdout.file === undefined ? {} : { stdout_file: "stdout" }),
		...(stderr.file === undefined ? {} : { stderr_file: "stderr" }),
	});
	effects.crash("tool.output");
	const text = renderEnvelope(header, shown.stdout, shown.stderr).toString("utf8");
	return { kind: "answered", text, isError: exitCode !== 0, exitCode, ms, bytes: stdout.bytes + stderr.bytes };
};

/**
 * Runs one judged call (`spec/tools.md` §§7–9). Its start is on disk before it acts (DESIGN D25), its output before it is
 * answered. What fails in the tool, or before it could start, is an outcome; the harness's own failures throw:
 * `NO_AGENT_DIRECTORY` before anything is written, what `confirmStart` throws, `TOOL_RECORD`, and `TOOL_KILLED` for an external tool that a signal ended.
 */
export const executeTool = async (call: ToolCall, tool: ResolvedTool, context: ToolContext): Promise<ToolOutcome> => {
	const { workspace, agent, step, cwd, effects, bound } = context;
	if (!isDirectory(cwd))
		throw new LernieError("NO_AGENT_DIRECTORY", `${cwd}: the working directory does not exist`, { cwd });
	const record = await openRecord(context.stepDirectory, call, context.directory);
	effects.crash("tool.input");
	await context.confirmStart();
	const changed = await changedSince(tool);
	if (changed !== undefined) return { kind: "not-started", why: changed };
	if (context.stop?.aborted) return { kind: "stopped", started: false };
	const startedAt = effects.now();
	const began = performance.now();
	const place = { workspace, agent, step, directory: record.directory };
	const prepared = await prepare(call, tool, context, toolEnvironment(context.env, context.toolEnv, place));
	if (prepared.kind === "run") {
		const ended = await start(prepared.command, prepared.stdin, tool, context, record);
		return "kind" in ended ? ended : report(ended, startedAt, context, record);
	}
	effects.crash("tool.exited");
	const { exitCode } = prepared;
	const ended: Ended = {
		header: exitHeader(exitCode),
		exitCode,
		stdout: captureBuffer(prepared.stdout, bound),
		stderr: captureBuffer(prepared.stderr, bound),
		ms: Math.round(performance.now() - began),
	};
	return report(ended, startedAt, context, record);
};
