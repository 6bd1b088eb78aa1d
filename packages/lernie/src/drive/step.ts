import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { entryToJson, requestToJson, sha256Hex } from "@lernie/contract";
import type { LoadedConfig } from "../config/load.ts";
import { createAdapter } from "../models/adapters.ts";
import { callModel } from "../models/call.ts";
import { timestamp } from "../workspace/effects.ts";
import { beginStep, endStep, stepDirectory } from "../workspace/steps.ts";
import { commitEntry } from "./commit.ts";
import type { Tip } from "./facts.ts";
import { assembleRequest } from "./request.ts";
import type { Session } from "./session.ts";
import type { TranscriptState } from "./transcript-state.ts";

/** A request larger than this is recorded as its commit, digest and size (CONTRACTS §7). */
const REQUEST_KEPT_BYTES = 1024 * 1024;

const requestRecord = (text: string, commit: string): string => {
	const bytes = Buffer.byteLength(text);
	if (bytes > REQUEST_KEPT_BYTES) return `${JSON.stringify({ commit, sha256: sha256Hex(text), bytes })}\n`;
	return `${text}\n`;
};

export interface StepOutcome {
	readonly tip: Tip;
	readonly step: number;
}

/**
 * One model call, from the read state to its committed entry (`spec/core.md` §23 H). Nothing is committed unless the call
 * came back whole; a failed one throws a `MODEL_*` fault and leaves the transcript as it was.
 */
export const runStep = async (
	session: Session,
	tip: Tip,
	state: TranscriptState,
	config: LoadedConfig,
): Promise<StepOutcome> => {
	const { layout, agent, effects } = session;
	const adapter = createAdapter(config.role.provider, config.rows, effects.env);
	const request = await assembleRequest(session, tip.commit.oid, state, config);
	const text = requestToJson(request);
	const meta = { commit: tip.commit.oid, started_at: timestamp(effects.now()) };
	const step = beginStep(layout, agent, meta);
	const directory = stepDirectory(layout, agent, step);
	writeFileSync(join(directory, "request.json"), requestRecord(text, tip.commit.oid));
	effects.crash("call.request");
	const answer = await callModel({
		adapter,
		request,
		requestText: text,
		stepDirectory: directory,
		retry: config.workflow.retry,
		effects,
		context: { assistantEntries: state.assistantEntries, newest: state.newest },
		onText: (part) => session.emit({ type: "text", text: part }),
		onRetry: ({ attempt, delayMs, error }) => session.emit({ type: "retry", attempt, delay_ms: delayMs, error }),
	});
	endStep(directory, { ...meta, ended_at: timestamp(effects.now()) });
	const committed = await commitEntry(session, tip, {
		number: state.last + 1,
		side: "assistant",
		origin: request.model,
		body: entryToJson(answer),
		trailers: [],
		snapshot: false,
	});
	effects.crash("entry.ref");
	return { tip: committed, step };
};
