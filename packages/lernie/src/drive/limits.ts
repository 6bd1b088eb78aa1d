import { markRef } from "@lernie/contract";
import type { LoadedConfig } from "../config/load.ts";
import { type AgentFacts, limitOf, type Tip } from "./facts.ts";
import { transact } from "./owner.ts";
import type { Session } from "./session.ts";

export interface Limits {
	/** Model calls since the newest message of a person; undefined is unlimited. */
	readonly steps: number | undefined;
	/** Wall time of one drive. */
	readonly minutes: number | undefined;
}

const override = (facts: AgentFacts, key: string, configured: number | undefined): number | undefined => {
	const given = limitOf(facts, key);
	if (given === undefined) return configured;
	return given === "unlimited" ? undefined : Number(given);
};

/** The limits in force: those given when the agent was founded, else the configuration's (CONTRACTS §7, §8). */
export const limitsInForce = (facts: AgentFacts, config: LoadedConfig): Limits => ({
	steps: override(facts, "steps", config.workflow.limits.steps),
	minutes: override(facts, "minutes", config.workflow.limits.minutes),
});

/** What is used up, in words, or undefined while there is room for another model call. */
export const exhausted = (
	limits: Limits,
	used: { readonly modelCalls: number; readonly milliseconds: number },
): string | undefined => {
	if (limits.steps !== undefined && used.modelCalls >= limits.steps)
		return `${used.modelCalls} of ${limits.steps} model calls since the last message of a person are used; a message starts a new count`;
	if (limits.minutes !== undefined && used.milliseconds >= limits.minutes * 60_000)
		return `this drive ran for its ${limits.minutes} minutes; the next drive has its own`;
	return undefined;
};

/** Says on the record that the agent rests because of a limit; the mark speaks of the tip it points at and no other. */
export const markLimit = (session: Session, tip: Tip): Promise<void> =>
	transact(session, [{ kind: "set", ref: markRef("limit", session.agent), oid: tip.commit.oid }]);
