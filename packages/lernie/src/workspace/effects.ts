import type { CrashPoint } from "./crash.ts";

/** How this program starts itself again, for a detached drive. */
export interface SelfCommand {
	readonly program: string;
	readonly args: readonly string[];
}

/** Everything the core needs of the world beside files, git and processes; built once by the composition root (DESIGN §3). */
export interface Effects {
	readonly now: () => Date;
	readonly random: (bytes: number) => Buffer;
	readonly sleep: (ms: number) => Promise<void>;
	readonly crash: CrashPoint;
	/** The driver's own environment; children get a closed list out of it (CONTRACTS §5). */
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly self: SelfCommand;
}

/** UTC to the second, `YYYY-MM-DDTHH:MM:SSZ`. */
export const timestamp = (at: Date): string => `${at.toISOString().slice(0, 19)}Z`;
