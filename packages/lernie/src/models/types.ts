import type { ModelEvent, ModelRequest } from "@lernie/contract";
import type { Environment } from "../process/environment.ts";
import type { TrackGroup } from "../workspace/running.ts";

/** What an adapter is told about the call beside the request. */
export interface CallContext {
	/** Assistant entries in the transcript before this call. */
	readonly assistantEntries: number;
	/** The newest tool result and the newest message to the agent, as text. */
	readonly newest: { readonly toolResult?: string; readonly user?: string };
}

export interface AttemptContext extends CallContext {
	/** Counts from 1 within one call; every attempt is of the same request. */
	readonly attempt: number;
	/** Aborts when the agent is stopped; whatever the adapter holds open must end then. */
	readonly stop: AbortSignal;
	/** Aborts when nothing that may still come is acted upon; an adapter that waits for an end of its own need not go on. */
	readonly decided: AbortSignal;
	/** Appends to the step's `stderr.log`. */
	readonly log: (text: string | Uint8Array) => void;
	/** How the stream came to its end, as a phrase; quoted where that was too early. */
	readonly ended: (how: string) => void;
}

/** A line as it was received, without its line end. */
export interface ReceivedLine {
	readonly bytes: Buffer;
	/** The stream broke off inside it: it is kept and is no event. */
	readonly torn: boolean;
}

/** What an adapter yields: an event, or a line exactly as it was received, which is recorded as such before it is read. */
export type StreamItem = ModelEvent | ReceivedLine | string;

/** What the adapters of a drive are built with. */
export interface AdapterPlace {
	/** The driver's environment; a program that is a model gets a closed list out of it. */
	readonly env: Environment;
	/** Root of the workspace, absolute; such a program runs there. */
	readonly workspace: string;
	/** Whose calls it answers; absent where it is only checked, before there is an agent. */
	readonly agent?: string;
	/** Told of each group that is started, so that it does not outlive a killed driver. */
	readonly track: TrackGroup;
}

/** One model row, ready for calls (DESIGN §9). */
export interface ModelAdapter {
	readonly row: string;
	/** What a person does about a key that is missing or refused, as a sentence without its full stop. */
	readonly keyHint?: string;
	/** Throws what can be known before a call to be wrong, so that it is refused before anything exists (DESIGN §2, law 6). */
	check(): Promise<void>;
	/**
	 * One attempt at a call (`spec/tools.md` §18.3). A failure that may be tried again is an `error` event; what is thrown
	 * is a `LernieError` and ends the call.
	 */
	attempt(request: ModelRequest, context: AttemptContext): AsyncIterable<StreamItem>;
}
