import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

/** The built command, as a user would run it. */
export const LAUNCHER = fileURLToPath(new URL("../../packages/lernie/bin/lernie.cjs", import.meta.url));

export interface Ran {
	/** Null where the process was killed. */
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
	readonly stdout: string;
	readonly stderr: string;
}

export type Variables = Readonly<Record<string, string>>;

/** One temporary installation: its own roots, its own tools, removed when the test ends. */
export interface Place {
	readonly root: string;
	/** `LERNIE_HOME`: config root and data root in one. */
	readonly home: string;
	readonly env: Variables;
	/** Runs `lernie` to its end; never throws for an exit code. */
	readonly lernie: (args: readonly string[], options?: RunOptions) => Promise<Ran>;
	/** Starts `lernie` and hands over the process, for tests that kill it. */
	readonly start: (args: readonly string[], options?: RunOptions) => Started;
	readonly path: (...parts: readonly string[]) => string;
	readonly write: (path: string, body: string | Buffer) => string;
	readonly read: (path: string) => string;
	readonly exists: (path: string) => boolean;
	/** Writes an executable file and returns its absolute path. */
	readonly script: (path: string, body: string) => string;
	/** An external tool of the pool: `lernie-tool-<name>` with its description. */
	readonly tool: (name: string, body: string, schema?: string) => string;
}

export interface RunOptions {
	readonly env?: Variables;
	readonly cwd?: string;
	readonly stdin?: string;
}

export interface Started {
	readonly process: ChildProcess;
	readonly ended: Promise<Ran>;
	readonly output: () => { readonly stdout: string; readonly stderr: string };
}

const startLernie = (args: readonly string[], env: Variables, cwd: string, stdin: string | undefined): Started => {
	const child = spawn(process.execPath, [LAUNCHER, ...args], { env, cwd, stdio: ["pipe", "pipe", "pipe"] });
	const streams = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
	child.stdout.on("data", (chunk: Buffer) => streams.stdout.push(chunk));
	child.stderr.on("data", (chunk: Buffer) => streams.stderr.push(chunk));
	child.stdin.on("error", () => undefined); // It may end without reading.
	child.stdin.end(stdin ?? "");
	const output = (): { stdout: string; stderr: string } => ({
		stdout: Buffer.concat(streams.stdout).toString("utf8"),
		stderr: Buffer.concat(streams.stderr).toString("utf8"),
	});
	const ended = new Promise<Ran>((resolve, reject) => {
		child.on("error", reject);
		child.on("close", (code, signal) => resolve({ code, signal, ...output() }));
	});
	return { process: child, ended, output };
};

/** Processes whose arguments or environment name a directory: what a test must not leave behind. */
export const processesNaming = (directory: string): readonly number[] =>
	execFileSync("ls", ["/proc"], { encoding: "utf8" })
		.split("\n")
		.filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
		.filter((pid) => {
			const names = (file: string): boolean => {
				try {
					return readFileSync(`/proc/${pid}/${file}`).includes(directory);
				} catch {
					return false; // It ended while we looked.
				}
			};
			return names("cmdline") || names("environ");
		})
		.map(Number);

/** Whether a process runs; one that is dead and not collected yet does not. */
export const isAlive = (pid: number): boolean => {
	try {
		const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
		return !["Z", "X"].includes(stat.slice(stat.lastIndexOf(")") + 2)[0] ?? "");
	} catch {
		return false; // There is no such process.
	}
};

/** Makes a place; when the test ends, whatever still runs in it is killed, reported as a failure, and it is removed. */
export const createPlace = (): Place => {
	const root = mkdtempSync(join(tmpdir(), "lernie-test-"));
	const home = join(root, "home");
	mkdirSync(home);
	const env: Variables = {
		PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}`,
		HOME: join(root, "person"),
		LERNIE_HOME: home,
		TMPDIR: root,
	};
	mkdirSync(join(root, "person"));
	onTestFinished(async () => {
		const left = await settled(root);
		for (const pid of left) killQuietly(pid);
		rmSync(root, { recursive: true, force: true });
		if (left.length > 0) throw new Error(`the test left ${left.length} process(es) behind: ${left.join(", ")}`);
	});
	const path = (...parts: readonly string[]): string => join(root, ...parts);
	const write = (name: string, body: string | Buffer): string => {
		mkdirSync(dirname(path(name)), { recursive: true });
		writeFileSync(path(name), body);
		return path(name);
	};
	const script = (name: string, body: string): string => {
		chmodSync(write(name, body), 0o755);
		return path(name);
	};
	const start: Place["start"] = (args, options = {}) =>
		startLernie(args, { ...env, ...options.env }, options.cwd ?? root, options.stdin);
	return {
		root,
		home,
		env,
		start,
		lernie: (args, options) => start(args, options).ended,
		path,
		write,
		read: (name) => readFileSync(path(name), "utf8"),
		exists: (name) => existsSync(path(name)),
		script,
		tool: (name, body, schema = '{"type":"object"}') => {
			write(`home/tools/${name}.json`, schema);
			return script(`home/tools/lernie-tool-${name}`, body);
		},
	};
};

const killQuietly = (pid: number): void => {
	try {
		process.kill(pid, "SIGKILL");
	} catch {
		// Gone by itself.
	}
};

const SETTLE_MS = 5000;

/** What still runs in a place once what was about to end has ended. */
const settled = async (root: string): Promise<readonly number[]> => {
	const deadline = Date.now() + SETTLE_MS;
	for (;;) {
		const left = processesNaming(root);
		if (left.length === 0 || Date.now() > deadline) return left;
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
};

const PATIENCE_SECONDS = 30;

/** Waits until something is so, looking often; fails with `what` when it takes too long. For progress, never for time to pass. */
export const until = async <T>(
	what: string,
	look: () => T | undefined | false | Promise<T | undefined | false>,
): Promise<T> => {
	const deadline = Date.now() + PATIENCE_SECONDS * 1000;
	for (;;) {
		const found = await look();
		if (found !== undefined && found !== false) return found;
		if (Date.now() > deadline) throw new Error(`it did not happen within ${PATIENCE_SECONDS} seconds: ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
};
