import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { LernieError, messageOf } from "@lernie/contract";

/** The two growing files of a model call (`spec/core.md` §10). They are for people and are not synced. */
export interface CallRecord {
	/** Appends one line to `response.json`, as it is. */
	line(text: string): void;
	/** Appends to `stderr.log`. */
	log(text: string): void;
	/** The end of what was logged, on one line, for an error message; says where all of it is. */
	loggedTail(): string;
	close(): void;
}

const TAIL_CHARACTERS = 400;

const onDisk = <T>(path: string, act: () => T): T => {
	try {
		return act();
	} catch (thrown) {
		throw new LernieError("DISK", `${path}: cannot be written: ${messageOf(thrown)}`, { path }, thrown);
	}
};

const writeAll = (path: string, fd: number, text: string): void =>
	onDisk(path, () => {
		const bytes = Buffer.from(text);
		for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
	});

/** Opens both files once for a whole call: while `response.json` is open, the call is in flight. Throws `DISK`. */
export const openCallRecord = (directory: string): CallRecord => {
	const response = join(directory, "response.json");
	const log = join(directory, "stderr.log");
	const responseFd = onDisk(response, () => openSync(response, "a"));
	const logFd = onDisk(log, () => openSync(log, "a"));
	let tail = "";
	let cut = false;
	return {
		line: (text) => writeAll(response, responseFd, `${text}\n`),
		log(text) {
			writeAll(log, logFd, text);
			const all = tail + text;
			cut ||= all.length > TAIL_CHARACTERS;
			tail = all.slice(-TAIL_CHARACTERS);
		},
		loggedTail() {
			const text = tail.trim().replace(/\r?\n/g, " | ");
			return `${cut ? "…" : ""}${text === "" ? "(empty)" : text} (${log})`;
		},
		close() {
			closeSync(responseFd);
			closeSync(logFd);
		},
	};
};
