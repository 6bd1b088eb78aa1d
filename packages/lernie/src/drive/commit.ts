import { lstatSync } from "node:fs";
import { agentRef, HARNESS_PATHS, LernieError, percentEncode, TRAILER } from "@lernie/contract";
import type { ObjectBatch } from "../git/objects.ts";
import { type Snapshot, snapshotDirectory } from "../git/snapshot.ts";
import type { RefOp, TreeEntry } from "../git/types.ts";
import { makeDirectory } from "../workspace/durable.ts";
import { agentDirectory } from "../workspace/layout.ts";
import { commitMessage, type Trailers } from "../workspace/trailers.ts";
import { addEntry, entryName, entryNumber, type Side } from "../workspace/transcript.ts";
import { factsTrailers, type Tip, tipOf } from "./facts.ts";
import { transact } from "./owner.ts";
import type { Session } from "./session.ts";

export interface NewEntry {
	readonly number: number;
	readonly side: Side;
	readonly origin: string;
	readonly body: string | Buffer;
	readonly trailers: Trailers;
	/** Whether the agent's directory may have changed since the last commit and is recorded with this one. */
	readonly snapshot: boolean;
	/** Ref moves that belong to this commit, such as the removal of a hold mark. */
	readonly ops?: readonly RefOp[];
}

const MESSAGES = Buffer.from("messages");

export const isHarnessPath = (name: Buffer): boolean => HARNESS_PATHS.includes(name.toString("latin1"));

/** How much of a commit may name what was left out: an agent can make a million pipes, and every commit would name them. */
const NAMED_BYTES = 64 * 1024;

/** What was left out, each by its path and why, and how many more there are. No path begins with `*`: it is percent-encoded. */
const unrecordedTrailers = ({ unrecorded }: Snapshot): Trailers => {
	const lines: string[] = [];
	let bytes = 0;
	for (const { path, why } of unrecorded) {
		const line = `${percentEncode(path)} ${why}`;
		bytes += line.length;
		if (bytes > NAMED_BYTES) break;
		lines.push(line);
	}
	const more = unrecorded.length - lines.length;
	return [...lines, ...(more === 0 ? [] : [`* ${more} more`])].map((line) => [TRAILER.unrecorded, line] as const);
};

/** What could not be recorded, or was not the agent's to write, as trailers (CONTRACTS §7). */
const snapshotTrailers = (snapshot: Snapshot): Trailers => [
	...(snapshot.restored === 0 ? [] : [[TRAILER.restored, String(snapshot.restored)] as const]),
	...unrecordedTrailers(snapshot),
];

/** A call may have removed its agent's directory or put something else in its place: its result is committed all the same. */
const takeSnapshot = async (session: Session, batch: ObjectBatch, root: readonly TreeEntry[]): Promise<Snapshot> => {
	const dir = agentDirectory(session.layout, session.agent);
	const { snapshots: cache, repo } = session;
	// Removed, its files are gone and the record says so; the next call needs a place to start in.
	if (lstatSync(dir, { throwIfNoEntry: false }) === undefined) makeDirectory(dir);
	try {
		return await snapshotDirectory({ dir, reserved: HARNESS_PATHS, batch, cache, gitDir: repo.gitDir });
	} catch (thrown) {
		if (!(thrown instanceof LernieError) || thrown.code !== "NO_AGENT_DIRECTORY") throw thrown;
		const unrecorded = [{ path: Buffer.from("."), why: "the directory was replaced; its last files stand" }];
		return { entries: root.filter(({ name }) => !isHarnessPath(name)), unrecorded, restored: 0 };
	}
};

/**
 * Commits one transcript entry, and with it the agent's directory where it may have changed: objects first, durable,
 * then one ref transaction that fails if this process no longer owns the agent (D5, D6, CONTRACTS §7).
 */
export const commitEntry = async (session: Session, tip: Tip, entry: NewEntry): Promise<Tip> => {
	const { repo, agent, effects } = session;
	const batch = repo.batch();
	const root = await repo.tree(tip.commit.tree);
	const snapshot = entry.snapshot ? await takeSnapshot(session, batch, root) : undefined;
	if (snapshot !== undefined) effects.crash("snapshot.done");
	const kept = snapshot === undefined ? root : [...root.filter(({ name }) => isHarnessPath(name)), ...snapshot.entries];
	const messages = await addEntry(repo, batch, root.find(({ name }) => name.equals(MESSAGES))?.oid, {
		number: entry.number,
		name: entryName(entry.number, entry.side, entry.origin),
		blob: batch.blob(entry.body),
	});
	const tree: TreeEntry[] = [
		...kept.filter(({ name }) => !name.equals(MESSAGES)),
		{ mode: "40000", name: MESSAGES, oid: messages },
	];
	const message = commitMessage(`transcript ${entryNumber(entry.number)}: ${entry.origin} [${agent}]`, [
		...factsTrailers(tip.facts),
		...entry.trailers,
		...(snapshot === undefined ? [] : snapshotTrailers(snapshot)),
	]);
	const oid = batch.commit({ tree: batch.tree(tree), parents: [tip.commit.oid], message, at: effects.now() });
	await batch.flush();
	effects.crash("entry.objects");
	await transact(session, [{ kind: "update", ref: agentRef(agent), oid, old: tip.commit.oid }, ...(entry.ops ?? [])]);
	return tipOf(await repo.commit(oid), agent);
};
