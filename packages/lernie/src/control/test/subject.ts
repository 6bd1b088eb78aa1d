import type { ToolCall } from "@lernie/contract";
import type { CommandControl } from "../../config/workflow.ts";
import { type Companion, startCompanion } from "../../process/companion.ts";
import type { ChildEnd } from "../../process/run-child.ts";
import { rulingOf, STDERR_BYTES } from "../answer.ts";
import { onceEnvironment, runOnce } from "../once.ts";
import { type Closed, createServer, type Server, startServer } from "../serve.ts";
import type { ControlContext, Ruling } from "../types.ts";
import { beginning, CALLER, factsOf, type Mode, PLAIN, textOf } from "./requests.ts";

/** What came of one request. */
export interface Heard {
	readonly ms: number;
	/** What a drive would make of it. */
	readonly ruling: Ruling;
	/** What it wrote to stdout: in mode `serve` the line, where there was one. */
	readonly said: Buffer;
	/** What that is worth by itself, however the process ended. */
	readonly answer: Ruling;
	/** No answer came in time. */
	readonly late: boolean;
	/** How the process ended; in mode `serve` it stays. */
	readonly end: ChildEnd | undefined;
}

/** The control under test, asked through the code that a drive asks through. */
export interface Subject {
	readonly mode: Mode;
	readonly timeoutSeconds: number;
	/** The directory that stands for the workspace. */
	readonly workspace: string;
	ask(call: ToolCall): Promise<Heard>;
	/** Any text in the place of a request; `seconds` where it is not waited for as long as for a request. */
	askText(text: string, id: string, seconds?: number): Promise<Heard>;
	/** Starts a process of it and sends the beginning of a request; its stdin stays open. Rejects where it cannot be started. */
	begin(): Promise<Companion>;
	/** How many processes a mode `serve` has taken since it was closed. */
	starts(): number;
	/** Ends what stays; the next request starts anew. */
	close(): Promise<Closed>;
	/** The same control with every variable of this process in its environment. */
	withWholeEnvironment(): Subject;
}

/** How long a control may take to read the beginning of a request before the test goes on all the same. */
const READ_MS = 5000;

/** Sends the beginning of a request; done when the pipe has taken all of it, so that the control is up and reads. */
const sendBeginning = async (
	starting: Promise<Companion | { readonly refused: unknown }>,
	mode: Mode,
): Promise<Companion> => {
	const started = await starting;
	if ("refused" in started) throw started.refused;
	let timer: NodeJS.Timeout | undefined;
	const late = new Promise<void>((resolve) => {
		timer = setTimeout(resolve, READ_MS);
	});
	await Promise.race([started.send(beginning(mode)), late]);
	clearTimeout(timer);
	return started;
};

const GONE: Closed = { exit: undefined, unasked: undefined };

const createOnce = (config: CommandControl, context: ControlContext): Omit<Subject, "withWholeEnvironment"> => {
	const env = (call: ToolCall) => onceEnvironment(config, context, { ...factsOf(call), agent: CALLER.agent });
	const run = async (text: string, call: ToolCall, seconds = config.timeoutSeconds): Promise<Heard> => {
		const { ruling, answer, end, said } = await runOnce(
			{ ...config, timeoutSeconds: seconds },
			context,
			text,
			env(call),
		);
		return { ms: end.ms, ruling, answer, end, said, late: end.kind === "timed-out" };
	};
	return {
		mode: "once",
		timeoutSeconds: config.timeoutSeconds,
		workspace: context.workspace,
		ask: (call) => run(textOf(call, "once"), call),
		askText: (text, _, seconds) => run(text, PLAIN, seconds),
		begin: () =>
			sendBeginning(
				startCompanion({
					program: config.command,
					args: [],
					env: env(PLAIN),
					cwd: context.workspace,
					lineBytes: STDERR_BYTES,
					stderrBytes: STDERR_BYTES,
					track: context.track,
					stop: context.stop,
				}),
				"once",
			),
		starts: () => 0,
		close: async () => GONE,
	};
};

const createServed = (config: CommandControl, context: ControlContext): Omit<Subject, "withWholeEnvironment"> => {
	let server: Server | undefined;
	const askOf = async (asked: Server, text: string, id: string): Promise<Heard> => {
		const served = await asked.ask(text, { id, agent: CALLER.agent });
		const answer = served.said.length === 0 ? served.ruling : rulingOf(served.said, { id });
		return { ...served, answer, end: undefined };
	};
	const ask = (text: string, id: string): Promise<Heard> => {
		server ??= createServer(config, context);
		return askOf(server, text, id);
	};
	return {
		mode: "serve",
		timeoutSeconds: config.timeoutSeconds,
		workspace: context.workspace,
		ask: (call) => ask(textOf(call, "serve"), call.id),
		askText: async (text, id, seconds) => {
			if (seconds === undefined) return ask(text, id);
			const other = createServer({ ...config, timeoutSeconds: seconds }, context);
			try {
				return await askOf(other, text, id);
			} finally {
				await other.close();
			}
		},
		begin: () => sendBeginning(startServer(config, context, CALLER.agent), "serve"),
		starts: () => server?.starts() ?? 0,
		close: async () => {
			const left = server;
			server = undefined;
			return (await left?.close()) ?? GONE;
		},
	};
};

/** The subject of a test: nothing is started before it is asked. */
export const createSubject = (config: CommandControl, context: ControlContext): Subject => ({
	...(config.mode === "serve" ? createServed(config, context) : createOnce(config, context)),
	withWholeEnvironment: () => createSubject({ ...config, env: Object.keys(context.env) }, context),
});
