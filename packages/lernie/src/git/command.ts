import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Socket } from "node:net";
import { LernieError, messageOf } from "@lernie/contract";

/** Nothing that the machine, the user or a repository configures may run a program or change what is recorded (D5, D6). */
const SETTINGS = [
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.fsync=loose-object,reference",
	"core.fsyncMethod=fsync",
	"core.logAllRefUpdates=false",
	"core.packedRefsTimeout=5000",
	"core.warnAmbiguousRefs=false",
	"gc.auto=0",
	"maintenance.auto=false",
	"safe.directory=*",
];

/** Argument vector of one git command, settings first. */
const gitArguments = (command: readonly string[], settings: readonly string[] = []): string[] => [
	...[...SETTINGS, ...settings].flatMap((setting) => ["-c", setting]),
	...command,
];

/** The closed environment of a git child: no inherited `GIT_*`, no configuration but the repository's own (D5). */
export const gitEnvironment = (gitDir: string, path: string | undefined): Record<string, string> => ({
	PATH: path ?? "/usr/local/bin:/usr/bin:/bin",
	LC_ALL: "C",
	HOME: "/nonexistent",
	GIT_DIR: gitDir,
	GIT_CONFIG_NOSYSTEM: "1",
	GIT_CONFIG_GLOBAL: "/dev/null",
	GIT_ATTR_NOSYSTEM: "1",
	GIT_TERMINAL_PROMPT: "0",
	GIT_OPTIONAL_LOCKS: "0",
	GIT_NO_REPLACE_OBJECTS: "1",
});

export interface GitCommand {
	readonly gitDir: string;
	readonly command: readonly string[];
	readonly settings?: readonly string[];
	/** Directory git starts in and takes as its work tree; none by default. */
	readonly workTree?: string;
}

export type GitChild = ChildProcessWithoutNullStreams;

/** Starts git with pipes. The caller listens to `error` (git is missing) and `close`. */
export const spawnGit = ({ gitDir, command, settings, workTree }: GitCommand): GitChild => {
	const env = gitEnvironment(gitDir, process.env.PATH);
	const child = spawn("git", gitArguments(command, settings), {
		cwd: workTree ?? "/",
		env: workTree === undefined ? env : { ...env, GIT_WORK_TREE: workTree },
		// A terminal's Ctrl-C goes to the whole group; it must not end git in the middle of a transaction.
		detached: true,
		stdio: ["pipe", "pipe", "pipe"],
	});
	// A child that died makes a write fail; its `close` event is what is acted on.
	child.stdin.on("error", () => undefined);
	return child;
};

export const cannotStart = (cause: unknown): LernieError =>
	new LernieError("GIT", `git could not be started: ${messageOf(cause)}`, {}, cause);

/** Lets a kept-alive child keep this process alive (while something is asked of it) or not (while it idles). */
export const holdProcess = (child: GitChild, held: boolean): void => {
	for (const part of [child, child.stdin, child.stdout, child.stderr]) {
		if (part !== child && !(part instanceof Socket)) continue;
		if (held) part.ref();
		else part.unref();
	}
};

/** Collects the last 8 KiB of a child's stderr. */
export const collectErrors = (child: GitChild): (() => string) => {
	let text = "";
	child.stderr.on("data", (chunk: Buffer) => {
		text = (text + chunk.toString("utf8")).slice(-8192);
	});
	return () => text.trim();
};

/** Ends a kept-alive child: it sees EOF, and is killed when it has not gone after 2 s. */
export const endChild = (child: GitChild): Promise<void> =>
	new Promise((resolve) => {
		if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
			resolve();
			return;
		}
		holdProcess(child, true);
		const timer = setTimeout(() => child.kill("SIGKILL"), 2000);
		child.once("exit", () => {
			clearTimeout(timer);
			resolve();
		});
		child.stdin.end();
	});

export interface GitResult {
	readonly code: number | null;
	readonly stdout: Buffer;
	readonly stderr: string;
}

/** Runs git once to its end. Throws LernieError GIT when it cannot be started; an exit code is the caller's to judge. */
export const runGit = (options: GitCommand): Promise<GitResult> =>
	new Promise((resolve, reject) => {
		const child = spawnGit(options);
		const chunks: Buffer[] = [];
		const errors = collectErrors(child);
		child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
		child.once("error", (cause) => reject(cannotStart(cause)));
		child.once("close", (code) => resolve({ code, stdout: Buffer.concat(chunks), stderr: errors() }));
		child.stdin.end();
	});
