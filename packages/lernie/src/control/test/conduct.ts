import { lstatSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { type Bench, failed, type Outcome, ok, type Point, quoted, skipped, words } from "./point.ts";
import { IDS, PLAIN, REQUESTS } from "./requests.ts";

const TERM_MS = 2000;

/** A directory and everything below it: what there is by name, with its kind, size and times of change. */
export const listing = (directory: string): ReadonlyMap<string, string> =>
	new Map(
		[".", ...readdirSync(directory, { recursive: true, encoding: "utf8" })].map((name) => {
			const { mode, size, mtimeMs, ctimeMs } = lstatSync(join(directory, name));
			return [name, [mode, size, mtimeMs, ctimeMs].join(" ")];
		}),
	);

const writesNothing = async ({ subject, before }: Bench): Promise<Outcome> => {
	await subject.close();
	const now = listing(subject.workspace);
	const changed = [...now.keys(), ...before.keys()].filter((name) => now.get(name) !== before.get(name));
	// A directory changes with what is in it; the last of them tells most.
	return changed.length === 0
		? ok("nothing in the workspace has changed")
		: failed(`it has changed ${changed.at(-1)} in the workspace`);
};

const sigterm = async ({ subject }: Bench): Promise<Outcome> => {
	const started = await subject.begin();
	const early = started.ended() !== undefined || started.unasked() !== undefined;
	const told = performance.now();
	await started.kill(TERM_MS);
	const ms = Math.round(performance.now() - told);
	if (early) return skipped("it does not wait for the whole request");
	const exit = started.ended();
	const killed = exit === undefined || (exit.kind === "signalled" && exit.signal === "SIGKILL") || ms >= TERM_MS;
	return killed
		? failed("it does not end within 2 s of SIGTERM")
		: ok(`asked and told to end by SIGTERM, it ended after ${ms} ms`);
};

const order = async ({ subject }: Bench): Promise<Outcome> => {
	await subject.close();
	for (const call of REQUESTS) {
		const { ruling } = await subject.ask(call);
		if (ruling.verdict === "fault") return failed(`request ${call.id}: ${words(ruling)}`);
	}
	const starts = subject.starts();
	const { unasked } = await subject.close();
	if (starts !== 1) return failed(`${REQUESTS.length} requests took ${starts} processes`);
	return unasked === undefined
		? ok("one process answers request after request, each with one line")
		: failed(`it wrote while nothing was asked: ${quoted(unasked)}`);
};

const ids = async ({ subject }: Bench): Promise<Outcome> => {
	for (const id of IDS) {
		const { ruling } = await subject.ask({ ...PLAIN, id });
		if (ruling.verdict === "fault")
			return failed(`a request with the id ${JSON.stringify(id.slice(0, 40))}: ${words(ruling)}`);
	}
	return ok("each answer carries the id of its request, whatever is in it");
};

/** The points about how its processes behave. */
export const conductPoints: readonly Point[] = [
	{ id: "writes-nothing", needsVerdict: true, check: writesNothing },
	{ id: "sigterm", needsVerdict: true, check: sigterm },
];

/** Those of a control that stays. */
export const servePoints: readonly Point[] = [
	{ id: "order", needsVerdict: true, check: order },
	{ id: "id", needsVerdict: true, check: ids },
];
