import type { RawObject } from "./types.ts";

/** One answer of `git cat-file --batch-command` to `contents`; undefined for an object that is missing or ambiguous. */
export type Reply = RawObject | undefined;

export interface ReplySink {
	reply(reply: Reply): void;
	confused(): void;
}

interface Body {
	readonly type: string;
	readonly size: number;
	readonly bytes: Buffer;
	have: number;
}

const OID_LENGTH = 40;
const TYPES: ReadonlySet<string> = new Set(["blob", "tree", "commit", "tag"]);
const EMPTY = Buffer.alloc(0);

/** Cuts a stream of bytes into answers, wherever its chunks end. */
export const createReplyParser = (sink: ReplySink): ((chunk: Buffer) => void) => {
	let line: Buffer = EMPTY;
	let body: Body | undefined;
	let lost = false;

	const header = (text: string): void => {
		const space = text.indexOf(" ", OID_LENGTH + 1);
		const [type, digits] = [text.slice(OID_LENGTH + 1, space), text.slice(space + 1)];
		if (text[OID_LENGTH] === " " && TYPES.has(type) && /^[0-9]+$/.test(digits)) {
			const size = Number(digits);
			body = { type, size, bytes: Buffer.allocUnsafe(size), have: 0 };
		} else if (text.endsWith(" missing") || text.endsWith(" ambiguous")) {
			sink.reply(undefined);
		} else {
			lost = true;
			sink.confused();
		}
	};
	// A body is followed by one line feed.
	const fill = (into: Body, chunk: Buffer, at: number): number => {
		const { type, size, bytes, have } = into;
		const end = Math.min(chunk.length, at + size + 1 - have);
		chunk.copy(bytes, have, at, end);
		into.have += end - at;
		if (into.have === size + 1) {
			body = undefined;
			sink.reply({ type, body: bytes });
		}
		return end;
	};
	return (chunk) => {
		for (let at = 0; at < chunk.length && !lost; ) {
			if (body !== undefined) {
				at = fill(body, chunk, at);
				continue;
			}
			const end = chunk.indexOf(0x0a, at);
			const piece = chunk.subarray(at, end < 0 ? chunk.length : end);
			line = line.length === 0 ? piece : Buffer.concat([line, piece]);
			at += piece.length + 1;
			if (end < 0) break;
			const text = line.toString("latin1");
			line = EMPTY;
			header(text);
		}
	};
};
