import { existsSync } from "node:fs";
import { join } from "node:path";
import { callDirectory, ENV, type ProcessRecord, type ToolUseBlock } from "@lernie/contract";
import { endGroup, findProcessesByEnvironment } from "../process/group.ts";
import { callEnvironmentPrefix } from "../tools/call-environment.ts";
import { readOpenCalls } from "../tools/record.ts";
import { leftGroups } from "../workspace/running.ts";
import { latestStep, readMeta, stepDirectory, stepName } from "../workspace/steps.ts";
import { subjectOf } from "../workspace/trailers.ts";
import { entryNumber } from "../workspace/transcript.ts";
import type { Tip } from "./facts.ts";
import type { Session } from "./session.ts";
import type { OpenWindow } from "./transcript-state.ts";

const GRACE_MS = 2000;
const ROUNDS = 5;

/** The step whose model call made this window, or undefined where its record is gone or incomplete (D25). */
export const emittingStep = async (session: Session, tip: Tip, window: OpenWindow): Promise<number | undefined> => {
	const { repo, layout, agent } = session;
	const prefix = `transcript ${entryNumber(window.entry)}: `;
	let { commit } = tip;
	while (!subjectOf(commit.message).startsWith(prefix)) {
		const parent = commit.parents[0];
		if (parent === undefined) return undefined;
		commit = await repo.commit(parent);
	}
	const number = latestStep(layout, agent);
	if (number === 0) return undefined;
	return readMeta(stepDirectory(layout, agent, number))?.commit === commit.parents[0] ? number : undefined;
};

/** Whether a call of this step may have started: its start is on record, or the record itself is missing. */
export const mayHaveStarted = (session: Session, step: number | undefined, call: ToolUseBlock): boolean =>
	step === undefined ||
	existsSync(join(stepDirectory(session.layout, session.agent, step), "tools", callDirectory(call.id), "input.json"));

/** Ends the controls and model programs that a killed driver left; whatever they would answer, nobody hears it. */
export const endLeftPrograms = async ({ layout, agent }: Pick<Session, "layout" | "agent">): Promise<void> => {
	for (const { group, forget } of leftGroups(layout, agent)) {
		if (group !== undefined) await endGroup(group, GRACE_MS);
		forget();
	}
};

/**
 * Ends what a killed driver left running for calls that have no result: the groups on record, and those whose record
 * was never written, found by the mark in their environment (D11). Resolves when none is left.
 */
export const endLeftovers = async (session: Session, calls: readonly ToolUseBlock[]): Promise<void> => {
	const { layout, agent } = session;
	const number = latestStep(layout, agent);
	if (number === 0 || calls.length === 0) return;
	const open = new Set(calls.map((call) => callDirectory(call.id)));
	const prefix = callEnvironmentPrefix(layout.root, agent, stepName(number));
	const mark = { name: ENV.call, valuePrefix: prefix };
	const recorded = readOpenCalls(stepDirectory(layout, agent, number)).flatMap(({ directory, process: group }) =>
		group !== undefined && open.has(directory) ? [group] : [],
	);
	const strays = (): readonly ProcessRecord[] =>
		findProcessesByEnvironment(ENV.call, prefix)
			.filter(({ value }) => open.has(value.slice(prefix.length)))
			.map(({ identity }) => identity);
	// Again until none is found: what is about to be ended can still start something.
	for (
		let round = 0, left = [...strays(), ...recorded];
		left.length > 0 && round < ROUNDS;
		round += 1, left = [...strays()]
	) {
		const groups = new Map(left.map((group) => [group.pgid, group]));
		await Promise.all([...groups.values()].map((group) => endGroup(group, GRACE_MS, mark)));
	}
};
