import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Block, entryToJson, LernieError, messageOf, readEntry } from "@lernie/contract";
import { callModel } from "../models/call.ts";
import type { Folded } from "../models/fold.ts";
import { timestamp } from "../workspace/effects.ts";
import { beginStep, endStep, stepDirectory } from "../workspace/steps.ts";
import { commitEntry } from "./commit.ts";
import type { Tip } from "./facts.ts";
import { assembleRequest } from "./request.ts";
import { recordRequest } from "./request-record.ts";
import type { Governing, Session } from "./session.ts";
import { type OpenWindow, type TranscriptState, windowOf } from "./transcript-state.ts";

/** What is committed must come back as it was: a record that cannot be read again would end the agent for good. */
const checkReadable = (body: string, answer: Folded): void => {
	const ids = (blocks: readonly Block[]): readonly string[] =>
		blocks.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
	let read: readonly string[];
	try {
		read = ids(readEntry(body, "the answer").blocks);
	} catch (thrown) {
		throw new LernieError("MODEL_MALFORMED", `the model's answer cannot be kept: ${messageOf(thrown)}`, {}, thrown);
	}
	if (read.join("\n") === ids(answer.blocks).join("\n") && new Set(read).size === read.length) return;
	throw new LernieError("MODEL_MALFORMED", "the model's answer cannot be kept: it names one call twice", { ids: read });
};

export interface StepOutcome {
	readonly tip: Tip;
	readonly step: number;
	/** Number of the entry that was committed. */
	readonly entry: number;
	readonly window: OpenWindow;
}

/**
 * One model call, from the read state to its committed entry (`spec/core.md` §23 H). Nothing is committed unless the call
 * came back whole; a failed one throws a `MODEL_*` fault and leaves the transcript as it was. A stop ends the call, and
 * whatever came back of it is dropped.
 */
export const runStep = async (
	session: Session,
	tip: Tip,
	state: TranscriptState,
	{ config, adapter }: Governing,
): Promise<StepOutcome | "stopped"> => {
	const { layout, agent, effects } = session;
	const { commit } = tip;
	const request = await assembleRequest(session, commit.oid, state, config);
	const record = recordRequest(request, commit.oid, state.settledMessages, session.transcripts.prefix);
	session.transcripts.prefix = record.prefix;
	const meta = { commit: commit.oid, started_at: timestamp(effects.now()) };
	const step = beginStep(layout, agent, meta, session.lastStep.number);
	session.lastStep.number = step;
	const directory = stepDirectory(layout, agent, step);
	writeFileSync(join(directory, "request.json"), record.text);
	effects.crash("call.request");
	const call = callModel({
		adapter,
		request,
		stepDirectory: directory,
		retry: config.workflow.retry,
		effects,
		context: { assistantEntries: state.assistantEntries, newest: state.newest },
		stop: session.stop,
		onText: (part) => session.emit({ type: "text", text: part }),
		onRetry: ({ attempt, delayMs, error }) => session.emit({ type: "retry", attempt, delay_ms: delayMs, error }),
	});
	const answer = await call.catch((thrown: unknown) => {
		// Only the flag says that the agent was stopped; what the call left behind then says nothing.
		if (session.stop.aborted) return undefined;
		throw thrown;
	});
	endStep(directory, { ...meta, ended_at: timestamp(effects.now()) });
	if (answer === undefined) return "stopped";
	const entry = state.last + 1;
	const body = entryToJson(answer);
	checkReadable(body, answer);
	const committed = await commitEntry(session, tip, {
		number: entry,
		side: "assistant",
		origin: request.model,
		body,
		trailers: [],
		snapshot: false,
	});
	effects.crash("entry.ref");
	return { tip: committed, step, entry, window: windowOf(entry, answer) };
};
