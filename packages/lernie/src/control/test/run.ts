import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf } from "@lernie/contract";
import type { CommandControl } from "../../config/workflow.ts";
import type { ControlContext } from "../types.ts";
import { answered, askingPoints } from "./asking.ts";
import { conductPoints, listing, servePoints } from "./conduct.ts";
import { malformedPoints } from "./malformed.ts";
import { type Bench, failed, type Outcome, type Point, type PointId, skipped } from "./point.ts";
import { CALLER, REQUESTS } from "./requests.ts";
import { createSubject, type Heard, type Subject } from "./subject.ts";

export interface Result extends Outcome {
	readonly id: PointId;
}

/** The order in which points are looked at and told (CONTRACTS §10). */
const ORDER: readonly PointId[] = [
	"answers",
	"grammar",
	"exit-zero",
	"deadline",
	"repeatable",
	"unknown-field",
	"missing-field",
	"not-json",
	"large-input",
	"unread-stdin",
	"environment",
	"writes-nothing",
	"sigterm",
	"order",
	"id",
];

const pointsOf = (mode: Subject["mode"]): readonly Point[] =>
	[...askingPoints, ...malformedPoints, ...conductPoints, ...(mode === "serve" ? servePoints : [])].sort(
		(a, b) => ORDER.indexOf(a.id) - ORDER.indexOf(b.id),
	);

/** Asks the fixed set, until a request gets no answer. */
const askFixedSet = async (subject: Subject): Promise<Pick<Bench, "heard" | "plain">> => {
	const heard: (Heard & { readonly id: string })[] = [];
	for (const call of REQUESTS) {
		const one = { ...(await subject.ask(call)), id: call.id };
		heard.push(one);
		if (!answered(one)) break;
	}
	const [plain] = heard;
	if (plain === undefined) throw new Error("the fixed set is empty");
	return { heard, plain };
};

const check = async ({ needsVerdict, check: look }: Point, bench: Bench): Promise<Outcome> => {
	if (needsVerdict && bench.plain.ruling.verdict === "fault") return skipped("it gives no verdict on a plain request");
	return look(bench).catch((thrown: unknown) => failed(messageOf(thrown)));
};

const testIn = async (
	workspace: string,
	config: CommandControl,
	context: Omit<ControlContext, "workspace">,
	tell: (result: Result) => void,
): Promise<readonly Result[]> => {
	for (const directory of [`agents/${CALLER.agent}`, "approved", "inbox", "repo.git", "steps"])
		mkdirSync(join(workspace, directory), { recursive: true });
	const subject = createSubject(config, { ...context, workspace });
	const results: Result[] = [];
	try {
		const before = listing(workspace);
		const bench = { subject, before, ...(await askFixedSet(subject)) };
		for (const point of pointsOf(subject.mode)) {
			const result = { id: point.id, ...(await check(point, bench)) };
			results.push(result);
			tell(result);
		}
	} finally {
		await subject.close();
	}
	return results;
};

/**
 * Puts a control through every point of its contract (CONTRACTS §3, §10), asking it as a drive would, in a temporary directory
 * that stands for a workspace. `tell` hears of each point as it is settled. Nothing of the control is left running.
 */
export const testControl = async (
	config: CommandControl,
	context: Omit<ControlContext, "workspace">,
	tell: (result: Result) => void,
): Promise<readonly Result[]> => {
	const workspace = realpathSync(mkdtempSync(join(tmpdir(), "lernie-control-test-")));
	try {
		return await testIn(workspace, config, context, tell);
	} finally {
		rmSync(workspace, { recursive: true, force: true });
	}
};
