import type { ErrorKind } from "@lernie/contract";
import type { RetryPolicy } from "../config/workflow.ts";

/** A provider that asks for a longer pause than this is not waited for (CONTRACTS §8). */
export const LONGEST_HINT_SECONDS = 600;

/** An `error` event, as far as deciding about it goes. */
export interface Failure {
	readonly kind: ErrorKind;
	readonly message: string;
	readonly retryAfterSeconds?: number;
}

export const statusOf = (kind: ErrorKind): number | undefined => {
	if (typeof kind !== "object") return undefined;
	// The kind came over a wire: its parts are not what its type promises.
	const status: unknown = (kind.provider as { status?: unknown } | undefined)?.status;
	return typeof status === "number" ? status : undefined;
};

const isRetryable = (kind: ErrorKind): boolean => {
	const status = statusOf(kind);
	return kind === "transport" || status === 429 || (status !== undefined && status >= 500);
};

/**
 * Milliseconds to wait before the attempt after the `attempt`-th (from 1), or undefined where there is none. `random` is
 * in [0, 1): delay = min(cap, base · 2^(n−1)) × (1 ± jitter), and never less than the provider asked for.
 */
export const retryDelay = (
	{ maxAttempts, baseMs, capMs, jitter }: RetryPolicy,
	attempt: number,
	failure: Pick<Failure, "kind" | "retryAfterSeconds">,
	random: number,
): number | undefined => {
	const hint = failure.retryAfterSeconds ?? 0;
	if (attempt >= maxAttempts || !isRetryable(failure.kind) || hint > LONGEST_HINT_SECONDS) return undefined;
	const delay = Math.min(capMs, baseMs * 2 ** (attempt - 1)) * (1 + jitter * (2 * random - 1));
	return Math.round(Math.max(delay, hint * 1000));
};
