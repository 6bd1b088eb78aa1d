import { isAbsolute, resolve } from "node:path";
import { type WorkflowFile, workflowSchema } from "@lernie/contract/config";
import type { Roots } from "../workspace/roots.ts";
import { type ConfigFiles, required } from "./files.ts";
import { readYaml } from "./strict-yaml.ts";

/** A program that is asked before every call: started for each, or once a drive (CONTRACTS §3). */
export interface CommandControl {
	readonly kind: "command";
	/** Absolute. A relative one was written relative to the config root; `PATH` is never searched (D22). */
	readonly command: string;
	readonly mode: "once" | "serve";
	readonly timeoutSeconds: number;
	/** Names of variables that the control gets beside the closed list of CONTRACTS §5. */
	readonly env: readonly string[];
}

/** What stands in front of every call (DESIGN §5, D21). */
export type ControlConfig = { readonly kind: "none" } | CommandControl;

/** When a failed model call is made again (CONTRACTS §8). */
export interface RetryPolicy {
	readonly maxAttempts: number;
	readonly baseMs: number;
	readonly capMs: number;
	/** 0 to 1: the part of a delay that chance adds or takes away. */
	readonly jitter: number;
}

/** `workflow.yaml` with every default filled in. */
export interface Workflow {
	readonly control: ControlConfig;
	readonly sandbox: { readonly mode: "auto" | "off" };
	/** undefined is `unlimited`. */
	readonly limits: { readonly steps: number | undefined; readonly minutes: number | undefined };
	readonly retry: RetryPolicy;
	readonly toolOutput: { readonly headBytes: number; readonly tailBytes: number };
	readonly toolEnv: readonly string[];
	/** How long a call may take; undefined is without limit. */
	readonly toolTimeoutSeconds: number | undefined;
	/** From SIGTERM to SIGKILL, where a call has to be ended. */
	readonly toolGraceSeconds: number;
}

export const WORKFLOW_FILE = "workflow.yaml";

export const CONTROL_TIMEOUT_SECONDS = 60;

/** What is in force where `workflow.yaml` says nothing (CONTRACTS §8). */
const WORKFLOW_DEFAULTS = {
	sandboxMode: "auto",
	steps: 200,
	minutes: 240,
	retry: { maxAttempts: 5, baseMs: 1000, capMs: 60_000, jitter: 0.2 },
	outputBytes: 16_384,
	graceSeconds: 2,
} as const;

const controlOf = (written: WorkflowFile["tool_control"], roots: Roots): ControlConfig => {
	if (written === "none") return { kind: "none" };
	return {
		kind: "command",
		command: isAbsolute(written.command) ? written.command : resolve(roots.config, written.command),
		mode: written.mode ?? "once",
		timeoutSeconds: written.timeout_seconds ?? CONTROL_TIMEOUT_SECONDS,
		env: written.env ?? [],
	};
};

const limitOf = (written: number | "unlimited" | undefined, shipped: number): number | undefined =>
	written === "unlimited" ? undefined : (written ?? shipped);

/** Fills in what was left out. */
export const completeWorkflow = (file: WorkflowFile, roots: Roots): Workflow => {
	const { retry } = WORKFLOW_DEFAULTS;
	return {
		control: controlOf(file.tool_control, roots),
		sandbox: { mode: file.sandbox?.mode ?? WORKFLOW_DEFAULTS.sandboxMode },
		limits: {
			steps: limitOf(file.limits?.steps, WORKFLOW_DEFAULTS.steps),
			minutes: limitOf(file.limits?.minutes, WORKFLOW_DEFAULTS.minutes),
		},
		retry: {
			maxAttempts: file.retry?.max_attempts ?? retry.maxAttempts,
			baseMs: file.retry?.base_ms ?? retry.baseMs,
			capMs: file.retry?.cap_ms ?? retry.capMs,
			jitter: file.retry?.jitter ?? retry.jitter,
		},
		toolOutput: {
			headBytes: file.tool_output?.head_bytes ?? WORKFLOW_DEFAULTS.outputBytes,
			tailBytes: file.tool_output?.tail_bytes ?? WORKFLOW_DEFAULTS.outputBytes,
		},
		toolEnv: file.tool_env ?? [],
		toolTimeoutSeconds: file.tool_timeout_seconds,
		toolGraceSeconds: file.tool_grace_seconds ?? WORKFLOW_DEFAULTS.graceSeconds,
	};
};

/** `workflow.yaml` as written. Throws `CONFIG` with file, line and column. */
export const readWorkflowFile = async (files: ConfigFiles): Promise<WorkflowFile> =>
	readYaml(workflowSchema, files.label(WORKFLOW_FILE), await required(files, WORKFLOW_FILE));
