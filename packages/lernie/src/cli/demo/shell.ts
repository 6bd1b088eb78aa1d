import { StringDecoder } from "node:string_decoder";
import { listPids, readProc } from "../../process/identity.ts";
import { runChild } from "../../process/run-child.ts";
import type { OutputSink } from "../../process/sink.ts";
import type { SelfCommand } from "../../workspace/effects.ts";
import type { Output } from "../output.ts";

interface Ran {
	readonly code: number | undefined;
	readonly stdout: string;
}

export interface Shell {
	readonly note: (text: string) => void;
	readonly show: (text: string) => void;
	/** Runs this program with arguments as a user would type them, showing what it prints. */
	readonly lernie: (args: readonly string[], more?: Readonly<Record<string, string>>) => Promise<Ran>;
	readonly quietly: (args: readonly string[]) => Promise<Ran>;
	readonly run: (program: string, args: readonly string[], cwd: string) => Promise<Ran>;
}

const GRACE_MS = 2000;

/** Keeps a stream whole and shows it as it comes. */
const tee = (show: (text: string) => void): OutputSink & { readonly text: () => string } => {
	const decoder = new StringDecoder("utf8");
	let all = "";
	const take = (part: string): void => {
		all += part;
		if (part !== "") show(part);
	};
	return { write: (chunk) => take(decoder.write(chunk)), end: () => take(decoder.end()), text: () => all };
};

/** The demo's terminal: every step is a real command in a process of its own. */
export const createShell = (
	output: Output,
	self: SelfCommand,
	env: Readonly<Record<string, string>>,
	cwd: string,
): Shell => {
	const show = (text: string): void => {
		if (!output.json) output.product(text);
	};
	const spawn = async (
		command: readonly string[],
		where: string,
		shown: boolean,
		more: Readonly<Record<string, string>>,
	): Promise<Ran> => {
		const [program = "", ...args] = command;
		const echo = shown ? show : () => undefined;
		const [stdout, stderr] = [tee(echo), tee(echo)];
		const ended = await runChild({
			program,
			args,
			cwd: where,
			env: { ...env, ...more },
			stdout,
			stderr,
			graceMs: GRACE_MS,
		});
		return { code: ended.kind === "exited" ? ended.code : undefined, stdout: stdout.text() };
	};
	const itself = [self.program, ...self.args];
	return {
		note: (text) => show(`\n# ${text}\n`),
		show,
		lernie: (args, more = {}) => {
			const words = args.map((arg) => (/^[\w./=-]+$/.test(arg) ? arg : JSON.stringify(arg)));
			show(`$ lernie ${words.join(" ")}\n`);
			return spawn([...itself, ...args], cwd, true, more);
		},
		quietly: (args) => spawn([...itself, ...args], cwd, false, {}),
		run: (program, args, where) => spawn([program, ...args], where, false, {}),
	};
};

/** Processes that work on a workspace: those that name it in their arguments or their environment, but for this one. */
export const processesOf = (workspace: string): number =>
	listPids().filter((pid) => {
		if (pid === process.pid) return false;
		return ["cmdline", "environ"].some((file) => readProc(`/proc/${pid}/${file}`)?.includes(workspace) ?? false);
	}).length;
