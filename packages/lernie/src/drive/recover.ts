import { existsSync } from "node:fs";
import { join } from "node:path";
import { ENV, type ProcessRecord, type ToolUseBlock } from "@lernie/contract";
import { endGroup, endMarked, type GroupMark } from "../process/group.ts";
import { agentCallPrefix, callEnvironmentPrefix } from "../tools/call-environment.ts";
import { recordDirectories } from "../tools/multi-tool.ts";
import { readOpenCalls } from "../tools/record.ts";
import { leftGroups } from "../workspace/running.ts";
import { latestStep, readMeta, stepDirectory, stepName } from "../workspace/steps.ts";
import { subjectOf } from "../workspace/trailers.ts";
import { entryNumber } from "../workspace/transcript.ts";
import type { Tip } from "./facts.ts";
import { confirmOwner } from "./owner.ts";
import type { Session } from "./session.ts";
import { type OpenWindow, openCalls } from "./transcript-state.ts";

const GRACE_MS = 2000;

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

/** Every directory in which a call of a window can have left records. */
const directoriesOf = ({ calls }: OpenWindow, call: ToolUseBlock): readonly string[] =>
	recordDirectories(
		call,
		calls.map(({ id }) => id),
	);

/** Whether a call of this step may have started: its start is on record, or the record itself is missing. */
export const mayHaveStarted = (
	session: Session,
	step: number | undefined,
	window: OpenWindow,
	call: ToolUseBlock,
): boolean => {
	if (step === undefined) return true;
	const tools = join(stepDirectory(session.layout, session.agent, step), "tools");
	return directoriesOf(window, call).some((directory) => existsSync(join(tools, directory, "input.json")));
};

/** Whose processes are looked for. */
type Place = Pick<Session, "layout" | "agent">;

/** What every process of an agent's calls carries. */
const agentMark = ({ layout, agent }: Place): GroupMark => ({
	name: ENV.call,
	valuePrefix: agentCallPrefix(layout.root, agent),
});

/**
 * Throws where this process may not act for the agent any more. Asked after each look and before anything is ended: what was
 * found is then not of a driver that took over since.
 */
type Confirm = () => Promise<void>;

/** Ends the controls and model programs that a killed driver left; whatever they would answer, nobody hears it. */
const endLeftPrograms = async ({ layout, agent }: Place, confirm: Confirm): Promise<void> => {
	for (const { group, forget } of leftGroups(layout, agent)) {
		await confirm();
		if (group !== undefined) await endGroup(group, GRACE_MS);
		forget();
	}
};

/** Ends what an agent's calls left in the background: it lives no longer than the drive of its call. */
export const endBackground = (session: Session): Promise<void> =>
	endMarked(agentMark(session), { graceMs: GRACE_MS, confirm: () => confirmOwner(session) });

/** The groups on record of started calls of the newest step that `accept` takes, by the name of the call's directory. */
const recordedGroups = (
	{ layout, agent }: Place,
	number: number,
	accept: (directory: string) => boolean,
): readonly ProcessRecord[] =>
	readOpenCalls(stepDirectory(layout, agent, number)).flatMap(({ directory, process: group }) =>
		group !== undefined && accept(directory) ? [group] : [],
	);

/**
 * Ends what a killed driver left running for calls that have no result: the groups on record, and those whose record
 * was never written, found by the mark in their environment (D11). Resolves when none is left.
 */
export const endLeftovers = async (session: Session, window: OpenWindow): Promise<void> => {
	const { layout, agent } = session;
	const number = latestStep(layout, agent);
	if (number === 0) return;
	const open = new Set(openCalls(window).flatMap((call) => directoriesOf(window, call)));
	const prefix = callEnvironmentPrefix(layout.root, agent, stepName(number));
	const recorded = recordedGroups(session, number, (directory) => open.has(directory));
	await endMarked(
		{ name: ENV.call, valuePrefix: prefix },
		{
			graceMs: GRACE_MS,
			recorded,
			accept: (value) => open.has(value.slice(prefix.length)),
			confirm: () => confirmOwner(session),
		},
	);
};

/**
 * Ends all that a dead driver of an agent left: its controls and model programs, the groups of calls without an outcome and
 * whatever carries the mark of one of its calls.
 */
export const endEverything = async (place: Place, confirm: Confirm): Promise<void> => {
	const { layout, agent } = place;
	await endLeftPrograms(place, confirm);
	const number = latestStep(layout, agent);
	const unfinished = new Set(
		readOpenCalls(stepDirectory(layout, agent, number)).flatMap(({ directory, output }) => (output ? [] : [directory])),
	);
	const recorded = recordedGroups(place, number, (directory) => unfinished.has(directory));
	await endMarked(agentMark(place), { graceMs: GRACE_MS, recorded, confirm });
};

/** Ends what the drive before this one left, if it was killed. Between two single hops the background goes on. */
export const endLeft = (session: Session, oneHop: boolean): Promise<void> => {
	const confirm: Confirm = () => confirmOwner(session);
	return oneHop ? endLeftPrograms(session, confirm) : endEverything(session, confirm);
};
