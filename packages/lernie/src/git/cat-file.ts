import { LernieError } from "@lernie/contract";
import { cannotStart, collectErrors, endChild, type GitChild, holdProcess, spawnGit } from "./command.ts";
import { createReplyParser, type Reply } from "./replies.ts";
import type { Oid, RawObject } from "./types.ts";

/** Reads objects through one kept-alive git. `undefined` is an object that is not there. */
export interface ObjectReader {
	contents(oid: Oid): Promise<RawObject | undefined>;
	/**
	 * Many at once, each handed over when it comes, in the order asked for: costs git and this process less than one by one,
	 * and git waits while one is dealt with. What `act` throws is thrown; it is not called again then.
	 */
	each(oids: readonly Oid[], act: (found: RawObject | undefined, at: number) => void): Promise<void>;
	close(): Promise<void>;
}

/** What was asked for at once. */
interface Question {
	open: number;
	failed: boolean;
	act(reply: Reply, at: number): void;
	resolve(): void;
	reject(error: unknown): void;
}

interface Request {
	readonly oid: Oid;
	readonly question: Question;
	readonly at: number;
	tries: number;
}

const fail = (question: Question, error: unknown): void => {
	question.failed = true;
	question.reject(error);
};

const answer = ({ question, at }: Request, reply: Reply): void => {
	if (question.failed) return;
	try {
		question.act(reply, at);
	} catch (error) {
		fail(question, error);
		return;
	}
	question.open -= 1;
	if (question.open === 0) question.resolve();
};

// A request that two children died of is at fault itself (a damaged object); the others are asked again.
const TRIES = 2;
// git answers up to here before it reads on, so that it and this process work at the same time.
const BURST = 64;

/** Requests as git reads them; it answers nothing before a `flush`, or before it dies. */
const encode = (requests: readonly Request[]): string =>
	requests
		.map(({ oid }, at) => `contents ${oid}\n${(at + 1) % BURST === 0 ? "flush\n" : ""}`)
		.concat(requests.length % BURST === 0 ? "" : "flush\n")
		.join("");

/** The child is started by the first request and again after it died; it never keeps this process alive while idle. */
export const createObjectReader = (gitDir: string): ObjectReader => {
	const queue: Request[] = [];
	// The end of the queue that git was not told of yet: what one turn asks for goes out in one write.
	let unsent: Request[] = [];
	let child: GitChild | undefined;
	let closed = false;

	const settle = (act: (request: Request) => void): void => {
		const request = queue.shift();
		if (request !== undefined) act(request);
		if (queue.length === 0 && child !== undefined) holdProcess(child, false);
	};
	const sendLater = (request: Request): void => {
		if (unsent.push(request) > 1) return;
		queueMicrotask(() => {
			const requests = unsent;
			unsent = [];
			if (requests.length > 0) child?.stdin.write(encode(requests));
		});
	};
	const failAll = (error: LernieError): void => {
		for (const { question } of queue.splice(0)) fail(question, error);
	};
	const died = (errors: string): void => {
		child = undefined;
		const head = queue[0];
		if (head === undefined) return;
		head.tries += 1;
		if (head.tries >= TRIES) {
			settle(({ oid, question }) =>
				fail(question, new LernieError("GIT", `object ${oid} cannot be read: ${errors || "git ended"}`, { oid })),
			);
		}
		if (queue.length > 0) child = start();
	};
	const start = (): GitChild => {
		const started = spawnGit({ gitDir, command: ["cat-file", "--batch-command", "--buffer"] });
		const errors = collectErrors(started);
		const parse = createReplyParser({
			reply: (reply) => settle((request) => answer(request, reply)),
			// An answer that cannot be understood makes every later one doubtful.
			confused: () => void started.kill("SIGKILL"),
		});
		started.stdout.on("data", parse);
		started.once("error", (cause) => {
			if (child !== started) return;
			child = undefined;
			failAll(cannotStart(cause));
		});
		started.once("close", () => {
			if (child === started) died(errors());
		});
		unsent = [];
		started.stdin.write(encode(queue));
		return started;
	};
	const enqueue = (request: Request): void => {
		const idle = queue.length === 0;
		queue.push(request);
		if (child === undefined) {
			child = start();
			return;
		}
		if (idle) holdProcess(child, true);
		sendLater(request);
	};
	const each: ObjectReader["each"] = (oids, act) =>
		new Promise((resolve, reject) => {
			if (closed) {
				reject(new LernieError("GIT", "the repository is closed", { gitDir }));
				return;
			}
			if (oids.length === 0) resolve();
			const question: Question = { open: oids.length, failed: false, act, resolve, reject };
			for (const [at, oid] of oids.entries()) enqueue({ oid, question, at, tries: 0 });
		});

	return {
		each,
		contents: async (oid) => {
			let found: RawObject | undefined;
			await each([oid], (reply) => {
				found = reply;
			});
			return found;
		},
		close: async () => {
			closed = true;
			if (child !== undefined) await endChild(child);
		},
	};
};
