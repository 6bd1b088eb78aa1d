import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { processorMs } from "./measure.ts";

const LAUNCHER = fileURLToPath(new URL("../packages/lernie/bin/lernie.cjs", import.meta.url));
const LARGE = { maxBuffer: 2 ** 30 } as const;

export interface Ran {
	readonly code: number | null;
	readonly stdout: string;
	readonly stderr: string;
}

/** A workspace of the built command in a temporary directory, with a scripted model. */
export interface Installation {
	readonly workspace: string;
	/** Runs `lernie` in it to its end. */
	readonly lernie: (...args: readonly string[]) => Ran;
	/** Processor time of `lernie` and of what it waited for. Median. */
	readonly processorMs: (...args: readonly string[]) => number;
	/** Starts `lernie` in it; what is started here is killed by `close`. */
	readonly start: (...args: readonly string[]) => ChildProcess;
	/** Runs git on the record, without waiting for the disk. Throws where git fails. */
	readonly git: (input: string | Buffer, ...args: readonly string[]) => string;
	/** What the model answers from now on: entries of a script, JSON (CONTRACTS §9); past them the last again. */
	readonly script: (calls: readonly unknown[]) => void;
	/** How many processes have it in their arguments or their environment. */
	readonly processes: () => number;
	readonly close: () => Promise<void>;
}

export interface InstallationOptions {
	readonly calls: readonly unknown[];
	/** `none`, or shell text of a control. */
	readonly control?: string;
}

const names = (file: string, directory: string): boolean => {
	try {
		return readFileSync(file).includes(directory);
	} catch {
		return false; // It ended while we looked.
	}
};

const processesNaming = (directory: string): number =>
	readdirSync("/proc").filter(
		(pid) =>
			/^\d+$/.test(pid) &&
			["cmdline", "environ"].some((file) => Number(pid) !== process.pid && names(`/proc/${pid}/${file}`, directory)),
	).length;

const write = (path: string, body: string, mode = 0o644): void => {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, body, { mode });
};

/** Creates it with `lernie new`. Throws where the command fails. */
export const createInstallation = ({ calls, control = "none" }: InstallationOptions): Installation => {
	const root = mkdtempSync(join(tmpdir(), "lernie-bench-"));
	const [home, workspace, script] = [join(root, "home"), join(root, "ws"), join(root, "script.yaml")];
	const setScript = (entries: readonly unknown[]): void =>
		write(script, `{"calls": ${JSON.stringify(entries)}, "then": "repeat"}`);
	const chosen = control === "none" ? control : { command: join(root, "control") };
	if (control !== "none") write(join(root, "control"), `#!/bin/sh\n${control}\n`, 0o755);
	const role = { provider: "scripted", model: "model-a", tools: ["bash", "read_file"] };
	write(join(home, "template/providers.yaml"), JSON.stringify({ roles: { worker: role } }));
	write(join(home, "template/workflow.yaml"), JSON.stringify({ tool_control: chosen }));
	setScript(calls);
	const env = { PATH: process.env.PATH ?? "", HOME: root, TMPDIR: root, LERNIE_HOME: home, LERNIE_SCRIPT: script };
	const children = new Set<ChildProcess>();
	const argvOf = (args: readonly string[]): string[] => [LAUNCHER, "-w", workspace, ...args];
	const start: Installation["start"] = (...args) => {
		const child = spawn(process.execPath, argvOf(args), { env, cwd: root, stdio: "ignore" });
		children.add(child);
		child.once("close", () => children.delete(child));
		return child;
	};
	const lernie: Installation["lernie"] = (...args) => {
		const { status, stdout, stderr } = spawnSync(process.execPath, argvOf(args), {
			env,
			cwd: root,
			encoding: "utf8",
			...LARGE,
		});
		return { code: status, stdout, stderr };
	};
	const made = lernie("new", workspace);
	if (made.code !== 0) throw new Error(`lernie new: ${made.stderr}`);
	return {
		workspace,
		start,
		lernie,
		processorMs: (...args) => processorMs(process.execPath, argvOf(args), env),
		git: (input, ...args) =>
			execFileSync("git", ["-C", join(workspace, "repo.git"), "-c", "core.fsync=none", ...args], {
				env,
				input,
				encoding: "utf8",
				...LARGE,
			}),
		script: setScript,
		processes: () => processesNaming(root),
		close: async () => {
			for (const child of children) {
				const closed = new Promise((resolve) => child.once("close", resolve));
				child.kill("SIGKILL");
				await closed;
			}
			rmSync(root, { recursive: true, force: true });
		},
	};
};

/** `lernie run`; the id of the agent it founded. Throws unless it ends with `exit`. */
export const runAgent = ({ lernie }: Installation, exit: number): string => {
	const { code, stderr } = lernie("run", "bench");
	const [, agent] = /^agent (\S+) /m.exec(stderr) ?? [];
	if (code !== exit || agent === undefined) throw new Error(`lernie run: exit code ${code}\n${stderr}`);
	return agent;
};

/** Waits for the only agent of a workspace to be there and answers its id. */
export const findAgent = async ({ workspace }: Installation): Promise<string> => {
	const [agent] = await until("an agent", () => {
		const found = readdirSync(join(workspace, "steps"));
		return found.length === 0 ? undefined : found;
	});
	return agent ?? "";
};

/** The most memory a process ever had resident, in MiB; undefined once it has ended. */
export const peakMiB = (pid: number | undefined): number | undefined => {
	const path = `/proc/${pid}/status`;
	const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(existsSync(path) ? readFileSync(path, "utf8") : "") ?? [];
	return kib === undefined ? undefined : Number(kib) / 1024;
};

/** Processor time of a process and of the children it waited for; 10 ms is the least that can be told. */
export const processorMsOf = (pid: number | undefined): number => {
	// The name, in brackets, may hold blanks; the fields are counted from behind it.
	const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
	return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks) * 10, 0);
};

const LONGEST_MS = 300_000;

/** Looks every millisecond until there is something. Throws after five minutes. */
const until = async <Found>(what: string, look: () => Found | undefined): Promise<Found> => {
	for (const from = performance.now(); ; await sleep(1)) {
		const found = look();
		if (found !== undefined) return found;
		if (performance.now() - from > LONGEST_MS) throw new Error(`it did not happen: ${what}`);
	}
};

/** Waits until a file is there. */
export const appears = async (path: string): Promise<void> => {
	await until(path, () => (existsSync(path) ? true : undefined));
};
