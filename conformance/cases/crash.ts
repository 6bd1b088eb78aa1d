/** Phases of the story in `crash/story.ts` and, for each, which passings of a site kill the driver, counted from 1. */
export interface SiteCase {
	readonly id: string;
	readonly site: string;
	/** From the founding until the call is held. */
	readonly run?: readonly number[];
	/** A drive that finds no answer and holds again. */
	readonly held?: readonly number[];
	/** From the answer to the final text. */
	readonly answered?: readonly number[];
}

/**
 * Every crash site a drive passes. The numbers are chosen so that each kind of call, delivery and commit of the story is
 * cut at least once; what `doctor --crash-sites` lists and is not here fails `crash/sites.test.ts`.
 */
export const SITES: readonly SiteCase[] = [
	{ id: "crash-deposit.written", site: "deposit.written", run: [1, 2] },
	{ id: "crash-delivery.committed", site: "delivery.committed", run: [1, 2], answered: [1] },
	{ id: "crash-delivery.unlinked", site: "delivery.unlinked", run: [1, 2], answered: [1] },
	{ id: "crash-found.objects", site: "found.objects", run: [1] },
	{ id: "crash-found.refs", site: "found.refs", run: [1] },
	{ id: "crash-found.directory", site: "found.directory", run: [1] },
	{ id: "crash-owner.written", site: "owner.written", run: [1], held: [1], answered: [1] },
	{ id: "crash-call.request", site: "call.request", run: [1, 2, 3], answered: [1] },
	{ id: "crash-call.first-byte", site: "call.first-byte", run: [1, 3], answered: [1] },
	{ id: "crash-call.sealed", site: "call.sealed", run: [1, 3], answered: [1] },
	{ id: "crash-entry.objects", site: "entry.objects", run: [1, 2, 3, 9, 12], answered: [1, 3, 4] },
	{ id: "crash-entry.ref", site: "entry.ref", run: [1, 2, 3], answered: [1] },
	{ id: "crash-consult.sent", site: "consult.sent", run: [1, 2, 4, 7], held: [1], answered: [1, 2] },
	{ id: "crash-consult.answered", site: "consult.answered", run: [1, 2, 4, 7], held: [1], answered: [1, 2] },
	{ id: "crash-mark.written", site: "mark.written", run: [1], held: [1] },
	{ id: "crash-mark.cleared", site: "mark.cleared", answered: [1] },
	{ id: "crash-tool.input", site: "tool.input", run: [1, 2, 3, 4, 5], answered: [1, 2, 3] },
	{ id: "crash-tool.spawned", site: "tool.spawned", run: [1, 2, 3], answered: [1, 2] },
	{ id: "crash-tool.process", site: "tool.process", run: [1, 2, 3], answered: [1, 2] },
	{ id: "crash-patch.written", site: "patch.written", answered: [1, 2] },
	{ id: "crash-tool.exited", site: "tool.exited", run: [1, 2, 3, 4, 5], answered: [1, 2, 3] },
	{ id: "crash-tool.output", site: "tool.output", run: [1, 2, 4], answered: [1, 2, 3] },
	{ id: "crash-snapshot.done", site: "snapshot.done", run: [1, 2, 3, 4, 7], answered: [1, 2, 3] },
	{ id: "crash-result.ref", site: "result.ref", run: [1, 2, 4, 5, 7], answered: [1, 2] },
	{ id: "crash-release.before", site: "release.before", run: [1], held: [1], answered: [1] },
	{ id: "crash-release.after", site: "release.after", run: [1], held: [1], answered: [1] },
];
