import type { ToolCall } from "@lernie/contract";
import {
	aggregate,
	type EntryResult,
	innerCalls,
	innerDirectory,
	MULTI_TOOL,
	type MultiCall,
	parseMultiCall,
} from "../tools/multi-tool.ts";
import { prepareRecords } from "../tools/record.ts";
import { stepDirectory } from "../workspace/steps.ts";
import { announce, type Court, decline, judge, type Ruling } from "./judge.ts";
import type { CallResult } from "./result.ts";
import { type Ran, runCall } from "./run-call.ts";
import type { Session } from "./session.ts";
import { heldInsideText, nestedText, skippedText, UNANSWERED_TEXT } from "./texts.ts";

export type BatchOutcome =
	| { readonly kind: "answered"; readonly text: string; readonly isError: boolean; readonly ran: Totals }
	/** The control could not answer after an entry had started; the text is the answer all the same (CONTRACTS §6). */
	| { readonly kind: "faulted"; readonly text: string; readonly reason: string; readonly ran: Totals }
	/** The control could not answer, and nothing had started: the whole call is asked about again. */
	| { readonly kind: "park"; readonly reason: string }
	| { readonly kind: "stopped"; readonly started: boolean };

type Totals = NonNullable<CallResult["ran"]>;

/** One entry after it was judged: its answer, or that it is to run. */
type Gate =
	| { readonly kind: "declined"; readonly text: string }
	| { readonly kind: "run"; readonly ruling: Ruling & { readonly kind: "run" } }
	| { readonly kind: "fault"; readonly reason: string }
	| { readonly kind: "stopped" };

/** How many entries of a parallel call run at once: each may hold its output in memory. */
const PARALLEL_MAX = 8;

const gate = async (session: Session, court: Court, call: ToolCall): Promise<Gate> => {
	if (session.stop.aborted) return { kind: "stopped" };
	session.emit({ type: "call", ...call });
	const nested = call.name === MULTI_TOOL;
	const ruling = nested
		? decline(call, { verdict: "ungranted", text: nestedText, reason: nestedText })
		: await judge(session, court, call);
	if (session.stop.aborted) return { kind: "stopped" };
	announce(session, call, ruling);
	switch (ruling.kind) {
		case "run":
			return { kind: "run", ruling };
		case "answer":
			return { kind: "declined", text: ruling.result.text };
		case "park":
			return ruling.by === "fault"
				? { kind: "fault", reason: ruling.reason }
				: { kind: "declined", text: heldInsideText(call.name, ruling.reason) };
		default:
			return ruling satisfies never;
	}
};

/** One envelope under way. */
interface Batch {
	gate(call: ToolCall): Promise<Gate>;
	/** Before several are run side by side. */
	prepare(): void;
	run(call: ToolCall, ruling: Ruling & { readonly kind: "run" }): Promise<Ran>;
	/** Tells who watches how an entry went, and answers it as the envelope shows it. */
	report(result: Omit<CallResult, "ops">): EntryResult;
	/** The same of one that was not run. */
	decline(call: ToolCall, text: string): EntryResult;
	/** Whether an entry may have started, so that the whole must not be asked about again. */
	started(): boolean;
	stopped(): BatchOutcome;
	totals(): Totals;
}

const createBatch = (session: Session, court: Court, siblings: readonly string[]): Batch => {
	let [recorded, began] = [false, false];
	let [totalMs, totalBytes] = [0, 0];
	return {
		gate: (call) => gate(session, court, call),
		prepare: () => prepareRecords(stepDirectory(session.layout, session.agent, court.step)),
		async run(call, ruling) {
			// Told to stop while others of the batch ran: no record of a call that will not start.
			if (session.stop.aborted) return { kind: "stopped", started: false };
			recorded = true;
			const ran = await runCall(session, court, call, ruling, innerDirectory(call.id, siblings));
			began ||= ran.kind === "stopped" ? ran.started : ran.result.ran !== undefined;
			return ran;
		},
		report({ call, text, isError, ran }) {
			const { exitCode = null, ms = 0, bytes = 0 } = ran ?? {};
			totalMs += ms;
			totalBytes += bytes;
			session.emit({ type: "result", id: call.id, is_error: isError, exit_code: exitCode, ms, bytes });
			return { name: call.name, status: isError ? "failed" : "ok", text };
		},
		decline({ id, name }, text) {
			session.emit({ type: "result", id, is_error: true, exit_code: null, ms: 0, bytes: 0 });
			return { name, status: "declined", text };
		},
		started: () => recorded,
		stopped: () => ({ kind: "stopped", started: began }),
		totals: () => ({ exitCode: null, ms: totalMs, bytes: totalBytes }),
	};
};

const answered = (batch: Batch, results: readonly EntryResult[]): BatchOutcome => ({
	kind: "answered",
	...aggregate(results),
	ran: batch.totals(),
});

/** The control could not answer about the first of `rest`: nothing further starts. */
const onFault = (
	batch: Batch,
	results: readonly EntryResult[],
	rest: readonly ToolCall[],
	reason: string,
): BatchOutcome => {
	if (!batch.started()) return { kind: "park", reason };
	const left = rest.map(
		(call, index): EntryResult =>
			index === 0
				? batch.decline(call, UNANSWERED_TEXT)
				: { name: call.name, status: "skipped", text: UNANSWERED_TEXT },
	);
	return { kind: "faulted", text: aggregate([...results, ...left]).text, reason, ran: batch.totals() };
};

/** In list order, each entry judged when the one before it is done (`spec/tools.md` §11.4). */
const runSerial = async (batch: Batch, calls: readonly ToolCall[], { onFailure }: MultiCall): Promise<BatchOutcome> => {
	const results: EntryResult[] = [];
	for (const [index, call] of calls.entries()) {
		const failed = onFailure === "abort" ? results.findIndex(({ status }) => status !== "ok") : -1;
		if (failed !== -1) {
			results.push({ name: call.name, status: "skipped", text: skippedText(failed + 1, calls.length) });
			continue;
		}
		const gated = await batch.gate(call);
		if (gated.kind === "stopped") return batch.stopped();
		if (gated.kind === "fault") return onFault(batch, results, calls.slice(index), gated.reason);
		if (gated.kind === "declined") {
			results.push(batch.decline(call, gated.text));
			continue;
		}
		const ran = await batch.run(call, gated.ruling);
		if (ran.kind === "stopped") return batch.stopped();
		results.push(batch.report(ran.result));
	}
	return answered(batch, results);
};

/** Every entry judged first; those that may run then run side by side (`spec/tools.md` §11.5). */
const runParallel = async (batch: Batch, calls: readonly ToolCall[]): Promise<BatchOutcome> => {
	const results: (EntryResult | undefined)[] = calls.map(() => undefined);
	const waiting: { readonly index: number; readonly call: ToolCall; readonly ruling: Ruling & { kind: "run" } }[] = [];
	for (const [index, call] of calls.entries()) {
		const gated = await batch.gate(call);
		if (gated.kind === "stopped") return batch.stopped();
		if (gated.kind === "fault") return { kind: "park", reason: gated.reason };
		if (gated.kind === "run") waiting.push({ index, call, ruling: gated.ruling });
		else results[index] = batch.decline(call, gated.text);
	}
	if (waiting.length > 0) batch.prepare();
	const ends: PromiseSettledResult<Ran>[] = [];
	const next = waiting.entries();
	const worker = async (): Promise<void> => {
		for (const [place, { call, ruling }] of next) {
			const [end] = await Promise.allSettled([batch.run(call, ruling)]);
			ends[place] = end;
		}
	};
	await Promise.all(Array.from({ length: PARALLEL_MAX }, worker));
	for (const [place, { index }] of waiting.entries()) {
		const end = ends[place];
		if (end?.status === "rejected") throw end.reason;
		if (end?.value.kind === "stopped") return batch.stopped();
		if (end?.value.kind === "result") results[index] = batch.report(end.value.result);
	}
	return answered(
		batch,
		results.filter((result) => result !== undefined),
	);
};

/**
 * Answers a `multi_tool` call that passed the toolset and the control itself (`spec/tools.md` §11): each of its entries goes
 * the same way as a call of its own, and none is started twice. `siblings` are the ids of the calls of its message.
 */
export const runBatch = async (
	session: Session,
	court: Court,
	outer: ToolCall,
	siblings: readonly string[],
): Promise<BatchOutcome> => {
	const parsed = parseMultiCall(outer.input);
	const batch = createBatch(session, court, siblings);
	if (!parsed.ok) return { kind: "answered", text: parsed.text, isError: true, ran: batch.totals() };
	const calls = innerCalls(outer, parsed.multi);
	return parsed.multi.execution === "parallel" ? runParallel(batch, calls) : runSerial(batch, calls, parsed.multi);
};
