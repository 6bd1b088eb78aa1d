import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { LernieError, messageOf } from "@lernie/contract";

/** The two growing files of a model call (`spec/core.md` §10). They are for people and are not synced. */
export interface CallRecord {
	/** Appends one line to `response.json`, as it is; a torn one without a line end, so that it does not pass for whole. */
	line(text: string | Uint8Array, torn?: boolean): void;
	/** Appends to `stderr.log`. */
	log(text: string | Uint8Array): void;
	/** The end of what was logged, on one line, for an error message; says where all of it is. */
	loggedTail(): string;
	close(): void;
}

const TAIL_CHARACTERS = 400;
/** Enough for so many characters of any kind, and for knowing that there were more. */
const TAIL_BYTES = TAIL_CHARACTERS * 4 + 4;
const NEWLINE = Buffer.from("\n");

const onDisk = <T>(path: string, act: () => T): T => {
	try {
		return act();
	} catch (thrown) {
		throw new LernieError("DISK", `${path}: cannot be written: ${messageOf(thrown)}`, { path }, thrown);
	}
};

const bytesOf = (text: string | Uint8Array): Uint8Array => (typeof text === "string" ? Buffer.from(text) : text);

const writeAll = (path: string, fd: number, bytes: Uint8Array): void =>
	onDisk(path, () => {
		for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
	});

/** Opens both files once for a whole call: while `response.json` is open, the call is in flight. Throws `DISK`. */
export const openCallRecord = (directory: string): CallRecord => {
	const response = join(directory, "response.json");
	const log = join(directory, "stderr.log");
	const responseFd = onDisk(response, () => openSync(response, "a"));
	const logFd = onDisk(log, () => openSync(log, "a"));
	let tail: Uint8Array = Buffer.alloc(0);
	let atLineStart = true;
	return {
		line(text, torn = false) {
			const parts = [atLineStart ? "" : NEWLINE, text, torn ? "" : NEWLINE].map(bytesOf);
			writeAll(response, responseFd, Buffer.concat(parts));
			atLineStart = !torn;
		},
		log(text) {
			const bytes = bytesOf(text);
			writeAll(log, logFd, bytes);
			tail = Buffer.concat([tail, bytes.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES);
		},
		loggedTail() {
			const all = Buffer.from(tail).toString("utf8");
			const kept = all.slice(-TAIL_CHARACTERS);
			const text = kept.trim().replace(/\r?\n/g, " | ");
			return `${kept.length < all.length ? "…" : ""}${text === "" ? "(empty)" : text} (${log})`;
		},
		close() {
			closeSync(responseFd);
			closeSync(logFd);
		},
	};
};
