import { ENV, LernieError, messageOf, requestLine, VERDICT_MAX_BYTES } from "@lernie/contract";
import type { CommandControl } from "../config/workflow.ts";
import { type Companion, type Reply, startCompanion } from "../process/companion.ts";
import { childEnvironment } from "../process/environment.ts";
import { fileDigest } from "../process/file-digest.ts";
import type { ChildExit } from "../process/start.ts";
import {
	adjudicated,
	endedBy,
	excerpt,
	fault,
	late,
	notAVerdict,
	notStarted,
	rulingOf,
	STDERR_BYTES,
} from "./answer.ts";
import type { Adjudication, Control, ControlContext, Question, Ruling } from "./types.ts";

const GRACE_MS = 2000;

/** What came of one line. */
interface Served {
	readonly ruling: Ruling;
	readonly ms: number;
	/** The line that was written in answer, whatever it is worth. */
	readonly said: Buffer;
	/** No answer came in time. */
	readonly late: boolean;
}

interface AskedOf {
	/** The id that the answer must carry. */
	readonly id: string;
	readonly agent: string;
}

/** A control that stays, asked line by line. */
export interface Server {
	/** SHA-256 of the file that the process now asked was started from, `unknown` where it could not be read. */
	digest(): string;
	/** How many processes were started so far. */
	starts(): number;
	/** One at a time. Rejects only with what tracking its group threw. */
	ask(line: string, asked: AskedOf): Promise<Served>;
	/** Ends the process there is (CONTRACTS §3); nothing is asked after it. */
	close(): Promise<Closed>;
}

export interface Closed {
	/** Undefined where no process was there, or nobody saw it end. */
	readonly exit: ChildExit | undefined;
	/** What it wrote after its last answer. */
	readonly unasked: Buffer | undefined;
}

/** Starts a control in mode `serve`: in the workspace, one argument, the closed environment without a word about any call. */
export const startServer = (
	config: CommandControl,
	context: ControlContext,
	agent: string,
): Promise<Companion | { readonly refused: unknown }> =>
	startCompanion({
		program: config.command,
		args: ["serve"],
		env: childEnvironment(context.env, {
			names: config.env,
			values: { [ENV.convRepo]: context.workspace, [ENV.convBranch]: agent },
		}),
		cwd: context.workspace,
		lineBytes: VERDICT_MAX_BYTES,
		stderrBytes: STDERR_BYTES,
		stop: context.stop,
		track: context.track,
	});

const rulingOfReply = (config: CommandControl, reply: Reply, id: string, stderr: Buffer): Ruling => {
	switch (reply.kind) {
		case "line":
			return rulingOf(reply.bytes, { id });
		case "unasked": {
			// Where what came first is no verdict either, that tells more.
			const first = reply.line === undefined ? undefined : rulingOf(reply.line, { id });
			return first?.verdict === "fault" ? first : fault(`it wrote while nothing was asked: ${excerpt(reply.bytes)}`);
		}
		case "too-long":
			return notAVerdict(`longer than ${VERDICT_MAX_BYTES} bytes`, reply.bytes);
		case "closed":
			return fault("it closed its stdout while it was asked");
		case "exited":
		case "signalled":
			return endedBy(reply, stderr);
		case "timed-out":
			return late(config);
		case "stopped":
			return fault("stopped while it was asked");
		case "gone":
			return fault("it was gone before it was asked");
		default:
			return reply satisfies never;
	}
};

const saidBy = (reply: Reply): Buffer => {
	if (reply.kind === "unasked") return reply.line ?? Buffer.alloc(0);
	return "bytes" in reply ? reply.bytes : Buffer.alloc(0);
};

/**
 * A `command` control in mode `serve` (CONTRACTS §3). It is started at the first line, and again at the line after a fault
 * or where it had ended while nothing was asked. Never makes a pass of its own: a pass is what `parseVerdict` read.
 */
export const createServer = (config: CommandControl, context: ControlContext): Server => {
	const { crash } = context.effects;
	const timeoutMs = config.timeoutSeconds * 1000;
	let companion: Companion | undefined;
	let digest = "unknown";
	let starts = 0;
	let closed = false;

	/** Asks the process there is, or one that is started for this line; its time then counts from its start. */
	const reply = async (line: string, agent: string): Promise<readonly [Reply, Companion] | Ruling> => {
		let fresh = false;
		if (companion === undefined) {
			digest = await fileDigest(config.command).catch(() => "unknown");
			const started = await startServer(config, context, agent);
			if ("refused" in started) return notStarted(config, messageOf(started.refused));
			companion = started;
			fresh = true;
			starts += 1;
		}
		const asked = companion;
		const from = fresh ? asked.startedAt : performance.now();
		const replying = asked.ask(line, { deadline: from + timeoutMs, stop: context.stop });
		crash("consult.sent");
		const replied = await replying;
		if (replied.kind !== "gone") crash("consult.answered");
		if (replied.kind !== "line") companion = undefined;
		return replied.kind === "gone" ? reply(line, agent) : [replied, asked];
	};
	return {
		digest: () => digest,
		starts: () => starts,
		ask: async (line, { id, agent }) => {
			if (closed) throw new LernieError("INTERNAL", "a control was asked after the drive had ended");
			if (line.includes("\n")) throw new LernieError("INTERNAL", "the request is not one line");
			const began = performance.now();
			const outcome = await reply(line, agent);
			const ms = Math.round(performance.now() - began);
			if ("verdict" in outcome) return { ruling: outcome, ms, said: Buffer.alloc(0), late: false };
			const [replied, asked] = outcome;
			const ruling = rulingOfReply(config, replied, id, asked.stderr());
			if (ruling.verdict === "fault") {
				// A control that failed must not go on acting in the background.
				companion = undefined;
				await asked.kill(GRACE_MS);
			}
			return { ruling, ms, said: saidBy(replied), late: replied.kind === "timed-out" };
		},
		close: async () => {
			closed = true;
			const left = companion;
			companion = undefined;
			await left?.close();
			return { exit: left?.ended(), unasked: left?.unasked() };
		},
	};
};

/** The control of a drive whose process stays; its label names the file that the process was started from. */
export const serveControl = (config: CommandControl, context: ControlContext): Control => {
	const server = createServer(config, context);
	let turn: Promise<unknown> = Promise.resolve();
	const consult = async (question: Question): Promise<Adjudication> => {
		const { call, caller } = question;
		const line = requestLine(call, caller, question);
		const { ruling, ms } = await server.ask(line, { id: call.id, agent: caller.agent });
		return { ...ruling, ms };
	};
	return {
		get label() {
			return `${config.command} sha256:${server.digest()}`;
		},
		adjudicate: (question) => {
			// Never a second request before the first is answered, whoever asks.
			const asking = turn.then(() => adjudicated(config, question, consult(question)));
			turn = asking;
			return asking;
		},
		close: async () => {
			await server.close();
		},
	};
};
