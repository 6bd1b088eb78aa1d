/** `tools/<dir>/process.json`: the group a call runs in, written right after the spawn (CONTRACTS §7). */
export interface ProcessRecord {
	readonly pgid: number;
	/** Field 22 of `/proc/<pid>/stat`, in clock ticks since boot. */
	readonly start_time: string;
	readonly boot_id: string;
}

/** `meta.json` of a step: written at its start, completed at its end. `commit` is the tip the request was made from. */
export interface StepMeta {
	readonly commit: string;
	readonly started_at: string;
	readonly ended_at?: string;
}

/** One line of `verdicts.jsonl`, one a consult (CONTRACTS §7). */
export interface VerdictRecord {
	readonly at: string;
	readonly id: string;
	readonly digest: string;
	readonly verdict: "pass" | "refuse" | "hold" | "fault";
	readonly reason: string | null;
	readonly ms: number;
	readonly fault: boolean;
	readonly program: string;
	readonly sha256: string | null;
	readonly confined: boolean;
}

/** Values of the trailer `Lernie-Verdict` of a result commit (CONTRACTS §7). */
export type ResultVerdict =
	| "pass"
	| "refuse"
	| "none"
	| "ungranted"
	| "unusable"
	| "stopped"
	| "unknown"
	| "not-started";

/** The last line of `driver.log`: why a drive ended with a non-zero code (CONTRACTS §10). */
export interface DriverRecord {
	readonly at: string;
	readonly code: string;
	readonly message: string;
	readonly exit: number;
	/** Tip of the agent's branch when the drive ended; a later tip makes the line history. */
	readonly tip: string;
}
