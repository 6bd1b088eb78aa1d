import { LernieError } from "@lernie/contract";
import { cannotStart, collectErrors, endChild, type GitChild, holdProcess, spawnGit } from "./command.ts";
import { createReplyParser, type Reply } from "./replies.ts";
import type { Oid, RawObject } from "./types.ts";

/** Reads objects through one kept-alive git. `undefined` is an object that is not there. */
export interface ObjectReader {
	contents(oid: Oid): Promise<RawObject | undefined>;
	info(oid: Oid): Promise<{ readonly type: string; readonly size: number } | undefined>;
	close(): Promise<void>;
}

interface Request {
	readonly command: "contents" | "info";
	readonly oid: Oid;
	tries: number;
	resolve(reply: Reply): void;
	reject(error: LernieError): void;
}

// A request that two children died of is at fault itself (a damaged object); those behind it are asked again.
const TRIES = 2;

/** The child is started by the first request and again after it died; it never keeps this process alive while idle. */
export const createObjectReader = (gitDir: string): ObjectReader => {
	const queue: Request[] = [];
	let child: GitChild | undefined;
	let closed = false;

	const settle = (act: (request: Request) => void): void => {
		const request = queue.shift();
		if (request !== undefined) act(request);
		if (queue.length === 0 && child !== undefined) holdProcess(child, false);
	};
	const send = (to: GitChild, request: Request): void => {
		to.stdin.write(`${request.command} ${request.oid}\n`);
	};
	const failAll = (error: LernieError): void => {
		for (const request of queue.splice(0)) request.reject(error);
	};
	const died = (errors: string): void => {
		child = undefined;
		const head = queue[0];
		if (head === undefined) return;
		head.tries += 1;
		if (head.tries >= TRIES) {
			settle(({ oid, reject }) =>
				reject(new LernieError("GIT", `object ${oid} cannot be read: ${errors || "git ended"}`, { oid })),
			);
		}
		if (queue.length > 0) child = start();
	};
	const start = (): GitChild => {
		const started = spawnGit({ gitDir, command: ["cat-file", "--batch-command"] });
		const errors = collectErrors(started);
		const parse = createReplyParser({
			wantsBody: () => queue[0]?.command === "contents",
			reply: (reply) => settle((request) => request.resolve(reply)),
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
		for (const request of queue) send(started, request);
		return started;
	};
	const ask = (command: Request["command"], oid: Oid): Promise<Reply> =>
		new Promise((resolve, reject) => {
			if (closed) {
				reject(new LernieError("GIT", "the repository is closed", { gitDir }));
				return;
			}
			const request: Request = { command, oid, tries: 0, resolve, reject };
			queue.push(request);
			if (child === undefined) {
				child = start();
				return;
			}
			if (queue.length === 1) holdProcess(child, true);
			send(child, request);
		});

	return {
		contents: async (oid) => {
			const reply = await ask("contents", oid);
			return reply === undefined ? undefined : { type: reply.type, body: reply.body };
		},
		info: async (oid) => {
			const reply = await ask("info", oid);
			return reply === undefined ? undefined : { type: reply.type, size: reply.size };
		},
		close: async () => {
			closed = true;
			if (child !== undefined) await endChild(child);
		},
	};
};
