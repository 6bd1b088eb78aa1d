import type { ErrorCode, LernieError } from "./error.ts";

/** Exit codes of every verb (CONTRACTS §1). */
export const EXIT = {
	done: 0,
	failure: 1,
	usage: 2,
	refused: 3,
	held: 10,
	stopped: 11,
	limit: 12,
	modelFailure: 13,
	controlFault: 14,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

const BY_CODE: ReadonlyMap<ErrorCode, ExitCode> = new Map([
	["USAGE", EXIT.usage],
	["ADDRESS", EXIT.refused],
	["AGENT_UNKNOWN", EXIT.refused],
	["ARGUMENT", EXIT.refused],
	["CONFIG", EXIT.refused],
	["MODEL_NAME", EXIT.refused],
	["NO_WORKSPACE", EXIT.refused],
	["PROVIDER_UNKNOWN", EXIT.refused],
	["REFUSED", EXIT.refused],
	["LIMIT", EXIT.limit],
	["MODEL_COMMAND", EXIT.modelFailure],
	["MODEL_ENDED", EXIT.modelFailure],
	["MODEL_FAILED", EXIT.modelFailure],
	["MODEL_HALF_STREAM", EXIT.modelFailure],
	["MODEL_HANDSHAKE", EXIT.modelFailure],
	["MODEL_MALFORMED", EXIT.modelFailure],
	["MODEL_SCRIPT", EXIT.modelFailure],
	["CONTROL_FAULT", EXIT.controlFault],
]);

/** The exit code a fault ends a verb with; what is not named here is a failure. */
export const exitCodeOf = (fault: LernieError): ExitCode => BY_CODE.get(fault.code) ?? EXIT.failure;
