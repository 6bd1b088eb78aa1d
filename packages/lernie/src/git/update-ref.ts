import { LernieError } from "@lernie/contract";
import { cannotStart, collectErrors, endChild, type GitChild, holdProcess, spawnGit } from "./command.ts";
import { checkRefName } from "./refs.ts";
import type { Oid, RefOp, TransactResult } from "./types.ts";

/** Moves refs through one kept-alive git; transactions of one writer run one after another. */
export interface RefWriter {
	transact(ops: readonly RefOp[]): Promise<TransactResult>;
	close(): Promise<void>;
}

const NONE = "0".repeat(40);

const encodeOp = (op: RefOp): string => {
	checkRefName(op.ref);
	switch (op.kind) {
		case "verify":
			return `verify ${op.ref} ${op.old ?? NONE}\n`;
		case "create":
			return `create ${op.ref} ${op.oid}\n`;
		case "update":
			return `update ${op.ref} ${op.oid} ${op.old ?? NONE}\n`;
		case "set":
			return `update ${op.ref} ${op.oid}\n`;
		case "delete":
			return `delete ${op.ref} ${op.old}\n`;
		default:
			return op satisfies never;
	}
};

/** The stdin of `git update-ref --stdin` for one transaction. Throws LernieError GIT for a malformed ref or object id. */
const encodeTransaction = (ops: readonly RefOp[]): string => {
	for (const op of ops) {
		const oids: (Oid | undefined)[] = [];
		if ("oid" in op) oids.push(op.oid);
		if ("old" in op) oids.push(op.old);
		const bad = oids.find((oid) => oid !== undefined && (!/^[0-9a-f]{40}$/.test(oid) || oid === NONE));
		if (bad !== undefined) throw new LernieError("GIT", `${op.ref}: ${bad} is not an object id`, { ref: op.ref });
	}
	return `start\n${ops.map(encodeOp).join("")}prepare\ncommit\n`;
};

// git's words for: another value, already there, not there, a name in the way, a lock held or left by somebody else.
const LOST = [
	/ is at [0-9a-f]{40} but expected /,
	/: reference already exists$/m,
	/: reference is missing but expected /,
	/: unable to resolve reference '[^']*'(?:: No such file or directory)?$/m,
	/ exists; cannot create '/,
	/: there is a non-empty directory '.*' blocking reference /,
	/: Unable to create '[^']*\.lock': File exists\.?$/m,
];

/** Whether git's message says that a compare failed or a ref or lock was in the way; anything else is a fault. */
export const isLostRace = (message: string): boolean => LOST.some((pattern) => pattern.test(message));

interface Attempt {
	readonly started: boolean;
	readonly prepared: boolean;
	readonly committed: boolean;
	readonly errors: string;
}

const runOn = (child: GitChild, errors: () => string, input: string): Promise<Attempt> =>
	new Promise((resolve, reject) => {
		let out = "";
		const attempt = (): Attempt => ({
			started: out.includes("start: ok\n"),
			prepared: out.includes("prepare: ok\n"),
			committed: out.includes("commit: ok\n"),
			errors: errors(),
		});
		const stop = (): void => {
			child.stdout.off("data", onData);
			child.off("close", onClose);
			child.off("error", onError);
			holdProcess(child, false);
		};
		const onData = (chunk: Buffer): void => {
			out += chunk.toString("latin1");
			if (!out.includes("commit: ok\n")) return;
			stop();
			resolve(attempt());
		};
		const onClose = (): void => {
			stop();
			resolve(attempt());
		};
		const onError = (cause: Error): void => {
			stop();
			reject(cannotStart(cause));
		};
		child.stdout.on("data", onData);
		child.on("close", onClose);
		child.on("error", onError);
		holdProcess(child, true);
		child.stdin.write(input);
	});

const firstLine = (text: string): string => text.split("\n", 1)[0] ?? "";

const failure = ({ prepared, errors }: Attempt): TransactResult => {
	if (!prepared && isLostRace(errors)) return { ok: false, detail: firstLine(errors) };
	// Past `prepare` the refs may have moved: the caller reads them again.
	const data = { outcome: prepared ? "unknown" : "unchanged" };
	throw new LernieError("GIT", `the refs could not be moved: ${firstLine(errors) || "git ended"}`, data);
};

/** A failed transaction ends the child; the next one starts another. */
export const createRefWriter = (gitDir: string): RefWriter => {
	let live: { child: GitChild; errors: () => string } | undefined;
	let tail: Promise<unknown> = Promise.resolve();
	let closed = false;

	const start = (): { child: GitChild; errors: () => string } => {
		const child = spawnGit({ gitDir, command: ["update-ref", "--stdin"] });
		const started = { child, errors: collectErrors(child) };
		const forget = (): void => {
			if (live === started) live = undefined;
		};
		child.once("error", forget);
		child.once("exit", forget);
		return started;
	};
	const run = async (input: string, again: boolean): Promise<TransactResult> => {
		if (closed) throw new LernieError("GIT", "the repository is closed", { gitDir });
		live ??= start();
		const attempt = await runOn(live.child, live.errors, input);
		if (attempt.committed) return { ok: true };
		live = undefined;
		// A child that died while it idled never began: nothing can have happened.
		return !attempt.started && again ? run(input, false) : failure(attempt);
	};
	return {
		transact: async (ops) => {
			if (ops.length === 0) return { ok: true };
			const input = encodeTransaction(ops);
			const turn = tail.then(() => run(input, true));
			// The next transaction runs whatever became of this one.
			tail = turn.catch(() => undefined);
			return turn;
		},
		close: async () => {
			await tail;
			closed = true;
			if (live !== undefined) await endChild(live.child);
		},
	};
};
