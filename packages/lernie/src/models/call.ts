import { LernieError, type ModelRequest } from "@lernie/contract";
import type { RetryPolicy } from "../config/workflow.ts";
import type { Effects } from "../workspace/effects.ts";
import { type AttemptOutcome, createAttempt } from "./attempt.ts";
import { type ReadEvent, readEvent, readLine, readLineBytes } from "./events.ts";
import type { Folded } from "./fold.ts";
import { openCallRecord } from "./record.ts";
import { type Failure, LONGEST_HINT_SECONDS, retryDelay, statusOf } from "./retry.ts";
import type { CallContext, ModelAdapter, StreamItem } from "./types.ts";

export interface ModelCall {
	readonly adapter: ModelAdapter;
	readonly request: ModelRequest;
	/** An existing directory; `response.json` and `stderr.log` are made in it. */
	readonly stepDirectory: string;
	readonly retry: RetryPolicy;
	readonly effects: Pick<Effects, "crash" | "random" | "sleep">;
	readonly context: CallContext;
	/** Ends the call, whatever it is doing: `callModel` then throws the signal's reason and nothing else. */
	readonly stop?: AbortSignal;
	/** Text of the answer as it streams. After `onRetry` it begins anew. */
	readonly onText?: (text: string) => void;
	/** The attempt that failed, and how long until the next. */
	readonly onRetry?: (retry: { readonly attempt: number; readonly delayMs: number; readonly error: string }) => void;
}

const KEY_HINT = "supply its key in the environment variable that `api_key_env` of the row names in models.yaml";

const causeOf = ({ kind, message }: Failure): string => {
	const status = statusOf(kind);
	const what = status === undefined ? (typeof kind === "string" ? kind : "provider") : `status ${status}`;
	return message === "" ? what : `${what}: ${message}`;
};

const failed = ({ row, keyHint = KEY_HINT }: ModelAdapter, attempts: number, failure: Failure): LernieError => {
	const { kind, message, retryAfterSeconds = 0 } = failure;
	const status = statusOf(kind);
	const times = attempts === 1 ? "" : ` after ${attempts} attempts`;
	const wait = retryAfterSeconds > LONGEST_HINT_SECONDS ? `; it asks to wait ${retryAfterSeconds} s` : "";
	const key = kind === "auth" || status === 401 ? `. ${keyHint}` : "";
	return new LernieError(
		"MODEL_FAILED",
		`the call to model row ${JSON.stringify(row)} failed${times} (${causeOf(failure)})${wait}${key}`,
		{ row, kind, message, attempts, ...(status === undefined ? {} : { status }) },
	);
};

/** Waits, but no longer than until `stop`. */
const pause = async (sleeping: Promise<void>, stop: AbortSignal): Promise<void> => {
	stop.throwIfAborted();
	const { promise: stopped, resolve } = Promise.withResolvers<void>();
	const wake = (): void => resolve();
	stop.addEventListener("abort", wake, { once: true });
	await Promise.race([sleeping, stopped]);
	stop.removeEventListener("abort", wake);
	stop.throwIfAborted();
};

interface Received {
	/** As it is recorded. */
	readonly line: string | Buffer;
	readonly torn: boolean;
	readonly event: ReadEvent | undefined;
}

const receive = (item: StreamItem): Received => {
	if (typeof item === "string") return { line: item, torn: false, event: readLine(item) };
	if ("type" in item) return { line: JSON.stringify(item), torn: false, event: readEvent(item) };
	const { bytes, torn } = item;
	return { line: bytes, torn, event: torn ? undefined : readLineBytes(bytes) };
};

/** `random` as a fraction of one. */
const fraction = (bytes: Buffer): number => bytes.readUInt32BE() / 2 ** 32;

/**
 * Makes one model call, over as many attempts as its retry policy allows, and returns the whole message; a refusal is one
 * (`spec/tools.md` §18.4). What a failed attempt brought is dropped. Throws `MODEL_FAILED`, `MODEL_HALF_STREAM`,
 * `MODEL_HANDSHAKE`, `MODEL_MALFORMED`, whatever fault the adapter throws, `DISK`, or the reason of `stop`.
 */
export const callModel = async (call: ModelCall): Promise<Folded> => {
	const { adapter, effects, onText = () => undefined, stop = new AbortController().signal } = call;
	const record = openCallRecord(call.stepDirectory);
	let first = true;
	const run = async (attempt: number): Promise<AttemptOutcome> => {
		const segment = createAttempt(adapter.row, onText);
		const decided = new AbortController();
		let how = "";
		const ended = (phrase: string): void => {
			how = ` (${phrase})`;
		};
		const context = { ...call.context, attempt, stop, decided: decided.signal, log: record.log, ended };
		for await (const item of adapter.attempt(call.request, context)) {
			stop.throwIfAborted();
			const { line, torn, event } = receive(item);
			record.line(line, torn);
			if (first) effects.crash("call.first-byte");
			first = false;
			segment.take(event, line);
			if (segment.decided()) decided.abort();
		}
		stop.throwIfAborted();
		return segment.outcome(() => `${how}; its stderr: ${record.loggedTail()}`);
	};
	try {
		for (let attempt = 1; ; attempt += 1) {
			const outcome = await run(attempt);
			if (outcome.kind === "complete") {
				effects.crash("call.sealed");
				return outcome.message;
			}
			const delayMs = retryDelay(call.retry, attempt, outcome.failure, fraction(effects.random(4)));
			if (delayMs === undefined) throw failed(adapter, attempt, outcome.failure);
			call.onRetry?.({ attempt, delayMs, error: causeOf(outcome.failure) });
			await pause(effects.sleep(delayMs), stop);
		}
	} catch (thrown) {
		// Only the flag says that the agent was stopped; what was left behind then says nothing (`spec/core.md` §11.3).
		stop.throwIfAborted();
		throw thrown;
	} finally {
		record.close();
	}
};
