import { createHash, type Hash } from "node:crypto";
import { type ModelRequest, messageToJson, requestHead, requestTail, type WireMessage } from "@lernie/contract";

/** A request larger than this is recorded as its commit, digest and size (CONTRACTS §7). */
const KEPT_BYTES = 1024 * 1024;

/** Digest and size of a request's text up to some message: what a growing transcript need not hash again. */
export interface RequestPrefix {
	readonly head: string;
	readonly messages: number;
	readonly hash: Hash;
	readonly bytes: number;
	/** The text itself, while a request could still be kept whole. */
	readonly text: string | undefined;
}

const begin = (head: string): RequestPrefix => ({
	head,
	messages: 0,
	hash: createHash("sha256").update(head),
	bytes: Buffer.byteLength(head),
	text: head,
});

/** The prefix with `added` behind it; the given one stays as it was. */
const extend = (prefix: RequestPrefix, added: readonly WireMessage[]): RequestPrefix => {
	if (added.length === 0) return prefix;
	const text = (prefix.messages === 0 ? "" : ",") + added.map(messageToJson).join(",");
	const bytes = prefix.bytes + Buffer.byteLength(text);
	return {
		head: prefix.head,
		messages: prefix.messages + added.length,
		hash: prefix.hash.copy().update(text),
		bytes,
		text: prefix.text === undefined || bytes > KEPT_BYTES ? undefined : prefix.text + text,
	};
};

export interface RequestRecord {
	/** The content of `request.json`. */
	readonly text: string;
	/** What the next request of the same transcript can start from. */
	readonly prefix: RequestPrefix;
}

/**
 * What `request.json` holds: the request itself, or where that is large its digest, at a cost of what was added since
 * `known`. The first `settled` messages are those that no later request changes.
 */
export const recordRequest = (
	request: ModelRequest,
	commit: string,
	settled: number,
	known: RequestPrefix | undefined,
): RequestRecord => {
	const head = requestHead(request);
	const usable = known !== undefined && known.head === head && known.messages <= settled ? known : begin(head);
	const prefix = extend(usable, request.messages.slice(usable.messages, settled));
	const whole = extend(prefix, request.messages.slice(prefix.messages));
	const tail = requestTail(request);
	const bytes = whole.bytes + Buffer.byteLength(tail);
	if (bytes <= KEPT_BYTES && whole.text !== undefined) return { text: `${whole.text}${tail}\n`, prefix };
	const sha256 = whole.hash.copy().update(tail).digest("hex");
	return { text: `${JSON.stringify({ commit, sha256, bytes })}\n`, prefix };
};
