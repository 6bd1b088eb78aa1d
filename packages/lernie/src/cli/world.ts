import { randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ENV, LernieError, type RunEvent, strictUtf8 } from "@lernie/contract";
import type { DriveContext } from "../drive/session.ts";
import { openRepo } from "../git/repo.ts";
import type { Environment } from "../process/environment.ts";
import { createCrashPoints } from "../workspace/crash.ts";
import type { Effects } from "../workspace/effects.ts";
import { findWorkspace } from "../workspace/layout.ts";
import { findRoots, type Roots } from "../workspace/roots.ts";
import type { Output } from "./output.ts";

/** What every verb is given: the effects of this process, the flags they share, where words go. */
export interface World {
	readonly effects: Effects;
	readonly roots: Roots;
	readonly cwd: string;
	readonly workspace: string | undefined;
	readonly output: Output;
	/** Absolute path of the control that ships until the real one does. */
	readonly shippedControl: string;
}

const clock = (fixed: string | undefined): (() => Date) => {
	if (fixed === undefined || fixed === "") return () => new Date();
	const at = new Date(fixed);
	if (Number.isNaN(at.getTime())) throw new LernieError("USAGE", `${ENV.now}: ${JSON.stringify(fixed)} is not a time`);
	return () => new Date(at);
};

/** Paths that are relative to the first process (CONTRACTS §9): whoever is started from here is told where that was. */
const HANDED_ON = [ENV.script, ENV.home];

const environment = (env: Environment, cwd: string): Environment => {
	const given = HANDED_ON.filter((name) => env[name] !== undefined && env[name] !== "");
	return { ...env, ...Object.fromEntries(given.map((name) => [name, resolve(cwd, env[name] ?? "")])) };
};

/** Builds the effects of this process; the only place that reads its environment (DESIGN §3). */
export const createWorld = (flags: { readonly workspace: string | undefined }, output: Output): World => {
	const env = environment(process.env, process.cwd());
	const launcher = realpathSync(process.argv[1] ?? "");
	return {
		effects: {
			now: clock(env[ENV.now]),
			random: randomBytes,
			sleep: async (ms) => {
				await sleep(ms);
			},
			crash: createCrashPoints(env),
			env,
			self: { program: process.execPath, args: [launcher] },
		},
		roots: findRoots(env),
		cwd: process.cwd(),
		workspace: flags.workspace,
		output,
		shippedControl: join(dirname(launcher), "lernie-control-ask.cjs"),
	};
};

/** What a verb that drives an agent adds to its context: where its events go, and what tells it to stop. */
export interface Driving {
	readonly emit: (event: RunEvent) => void;
	readonly stop: AbortSignal;
}

const NOT_DRIVING: Driving = { emit: () => undefined, stop: new AbortController().signal };

/** Opens the workspace the flags name, for as long as `work` runs. */
export const inWorkspace = async <T>(
	world: World,
	work: (context: DriveContext) => Promise<T>,
	driving: Driving = NOT_DRIVING,
): Promise<T> => {
	const layout = findWorkspace(world.workspace, world.effects.env, world.cwd);
	const repo = openRepo(layout.repo);
	try {
		return await work({ layout, repo, roots: world.roots, effects: world.effects, ...driving });
	} finally {
		await repo.close();
	}
};

/** A text argument; `-` is the whole of stdin (CONTRACTS §2). */
export const textArgument = async (text: string): Promise<string> => {
	if (text !== "-") return text;
	const chunks: Buffer[] = [];
	for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
	const read = strictUtf8(Buffer.concat(chunks));
	if (read === undefined) throw new LernieError("ARGUMENT", "the text on stdin is not UTF-8: send it as UTF-8");
	return read;
};
