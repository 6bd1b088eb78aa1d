import type { RunEvent, ToolDefinition } from "@lernie/contract";
import type { LoadedConfig } from "../config/load.ts";
import type { Control } from "../control/types.ts";
import type { Repo } from "../git/repo.ts";
import type { SnapshotCache } from "../git/snapshot.ts";
import type { Oid } from "../git/types.ts";
import type { ModelAdapter } from "../models/types.ts";
import type { HostTools } from "../tools/host.ts";
import type { Effects } from "../workspace/effects.ts";
import type { Deposit } from "../workspace/inbox.ts";
import type { Layout } from "../workspace/layout.ts";
import type { Lease } from "../workspace/lease.ts";
import type { Roots } from "../workspace/roots.ts";
import type { TranscriptCache } from "./transcript-state.ts";

/** The configuration an agent runs under, with the control and the model it names, as one drive uses them. */
export interface Governing {
	readonly config: LoadedConfig;
	readonly control: Control;
	readonly adapter: ModelAdapter;
}

/** What every part of a drive works with, whoever the agent is. */
export interface DriveContext {
	readonly layout: Layout;
	readonly repo: Repo;
	readonly roots: Roots;
	readonly effects: Effects;
	readonly emit: (event: RunEvent) => void;
	/** Fires when this process is told to stop (CONTRACTS §1): from then on no tool, consult or model call starts. */
	readonly stop: AbortSignal;
	readonly host?: HostTools;
}

/**
 * One process that holds the lease of one agent. Nothing in it is state of the agent: the caches are keyed by
 * content and by file status, and may be dropped at any time (DESIGN §2, law 1).
 */
export interface Session extends DriveContext {
	readonly agent: string;
	readonly lease: Lease;
	/** The blob this process wrote to the owner ref; every ref write verifies it (CONTRACTS §7). */
	readonly owner: Oid;
	/** When the drive began, in milliseconds, for the limit on its wall time. */
	readonly startedAt: number;
	readonly snapshots: SnapshotCache;
	readonly transcripts: TranscriptCache;
	/** How the trees this drive met describe a tool, by tree and name. */
	readonly descriptions: Map<string, Promise<ToolDefinition | undefined>>;
	/** The newest step this drive made, where looking for the next begins; the disk decides. */
	readonly lastStep: { number: number | undefined };
	/** The mail that lay there when this process was told to stop; undefined before. It wakes nobody. */
	readonly atStop: { mail: readonly Deposit[] | undefined };
	/** What each governing commit this drive met was loaded as; a commit never changes. */
	readonly governing: Map<Oid, Promise<Governing>>;
}
