/** Codes of `LernieError`. A code is stable; its message is for people and may change. */
export type ErrorCode =
	| "ADDRESS"
	| "AGENT_UNKNOWN"
	| "ARGUMENT"
	| "CONFIG"
	| "CONTROL_FAULT"
	| "DISK"
	| "GIT"
	| "GIT_OBJECT_MISSING"
	| "HOLD_MARK_CLEAR"
	| "HOLD_MARK_STALE"
	| "HOLD_MARK_WRITE"
	| "INTERNAL"
	| "LEASE"
	| "LIMIT"
	| "MODEL_COMMAND"
	| "MODEL_ENDED"
	| "MODEL_FAILED"
	| "MODEL_HALF_STREAM"
	| "MODEL_HANDSHAKE"
	| "MODEL_MALFORMED"
	| "MODEL_NAME"
	| "MODEL_SCRIPT"
	| "NO_AGENT_DIRECTORY"
	| "NO_WORKSPACE"
	| "OWNER_LOST"
	| "PLATFORM"
	| "PROVIDER_UNKNOWN"
	| "REFUSED"
	| "TOOL_KILLED"
	| "TOOL_RECORD"
	| "TOOLSET"
	| "TRANSCRIPT"
	| "UNPAIRED_TOOL_USE"
	| "USAGE";

/**
 * The one fault type of the harness (DESIGN §3). Expected outcomes are returned as values and never thrown.
 * `message` is one sentence for people, `data` is typed by the thrower and safe to print as JSON.
 */
export class LernieError extends Error {
	readonly code: ErrorCode;
	readonly data: Readonly<Record<string, unknown>>;

	constructor(code: ErrorCode, message: string, data: Readonly<Record<string, unknown>> = {}, cause?: unknown) {
		super(message, cause === undefined ? undefined : { cause });
		this.name = "LernieError";
		this.code = code;
		this.data = data;
	}
}

/** The message of anything thrown, for use inside another message. */
export const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** Anything thrown as a `LernieError`: a system error is a `DISK` fault, whatever else is a defect of ours, `INTERNAL`. */
export const faultOf = (thrown: unknown): LernieError => {
	if (thrown instanceof LernieError) return thrown;
	const errno = errnoOf(thrown) ?? "";
	return new LernieError(/^E(?!RR_)[A-Z0-9]+$/.test(errno) ? "DISK" : "INTERNAL", messageOf(thrown), {}, thrown);
};

/** The `code` of a Node system error such as `ENOENT`, or undefined. */
export const errnoOf = (thrown: unknown): string | undefined => {
	if (!(thrown instanceof Error) || !("code" in thrown)) return undefined;
	return typeof thrown.code === "string" ? thrown.code : undefined;
};
