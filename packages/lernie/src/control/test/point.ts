import { excerpt } from "../answer.ts";
import type { Ruling } from "../types.ts";
import type { Heard, Subject } from "./subject.ts";

export type PointId =
	| "answers"
	| "grammar"
	| "exit-zero"
	| "deadline"
	| "repeatable"
	| "unknown-field"
	| "missing-field"
	| "not-json"
	| "large-input"
	| "unread-stdin"
	| "environment"
	| "writes-nothing"
	| "sigterm"
	| "order"
	| "id";

/** `ok` is null where the point could not be looked at. `detail` is one sentence without a full stop. */
export interface Outcome {
	readonly ok: boolean | null;
	readonly detail: string;
}

/** What the points of one test share. */
export interface Bench {
	readonly subject: Subject;
	/** What came of the fixed set, up to the first request that got no answer. */
	readonly heard: readonly (Heard & { readonly id: string })[];
	/** The first of them. */
	readonly plain: Heard;
	/** What lay in the workspace before anything was asked. */
	readonly before: ReadonlyMap<string, string>;
}

export interface Point {
	readonly id: PointId;
	/** It says nothing about a control that gets no verdict on a plain request. */
	readonly needsVerdict: boolean;
	readonly check: (bench: Bench) => Promise<Outcome>;
}

export const ok = (detail: string): Outcome => ({ ok: true, detail });
export const failed = (detail: string): Outcome => ({ ok: false, detail });
export const skipped = (detail: string): Outcome => ({ ok: null, detail });

/** A ruling in words. */
export const words = (ruling: Ruling): string => {
	switch (ruling.verdict) {
		case "fault":
			return ruling.detail;
		case "refuse":
		case "hold":
			return `${ruling.verdict} (${JSON.stringify(ruling.reason)})`;
		default:
			return ruling.verdict;
	}
};

/** What was said, for a sentence. */
export const quoted = (said: Buffer): string => (said.length === 0 ? "nothing" : excerpt(said));
