import { createHash } from "node:crypto";
import { LernieError } from "@lernie/contract";
import { isDotGit } from "./special-names.ts";
import type { Commit, Mode, Oid, TreeEntry } from "./types.ts";

const OID = /^[0-9a-f]{40}$/;
const MODES: ReadonlySet<string> = new Set<Mode>(["100644", "100755", "120000", "40000"]);
const NUL = Buffer.alloc(1);
const IDENTITY = "lernie <lernie@localhost>";

export const isOid = (text: string): boolean => OID.test(text);

const isMode = (text: string): text is Mode => MODES.has(text);

/** The header that is hashed and stored in front of a body. */
export const objectHeader = (type: string, size: number): Buffer => Buffer.from(`${type} ${size}\0`, "latin1");

export const hashObject = (type: string, body: Buffer): Oid =>
	createHash("sha1").update(objectHeader(type, body.length)).update(body).digest("hex");

const damaged = (oid: Oid, why: string): LernieError => new LernieError("GIT", `object ${oid}: ${why}`, { oid });

/** Walks over a tree's body: the mode, where the name begins and ends, where the id begins. Throws LernieError GIT for a damaged one. */
const eachEntry = (oid: Oid, body: Buffer, act: (mode: Mode, name: number, nul: number) => void): void => {
	for (let at = 0; at < body.length; ) {
		const space = body.indexOf(0x20, at);
		const nul = body.indexOf(0, space);
		if (space < 0 || nul < 0 || nul + 21 > body.length) throw damaged(oid, "the tree is cut off");
		const mode = body.toString("latin1", at, space);
		if (!isMode(mode)) throw damaged(oid, `mode ${mode} is not supported`);
		act(mode, space + 1, nul);
		at = nul + 21;
	}
};

/** Entries of a tree's body, in stored order. Throws LernieError GIT for a damaged tree or a mode this harness never writes. */
export const parseTree = (oid: Oid, body: Buffer): TreeEntry[] => {
	const entries: TreeEntry[] = [];
	eachEntry(oid, body, (mode, name, nul) => {
		entries.push({ mode, name: body.subarray(name, nul), oid: body.toString("hex", nul + 1, nul + 21) });
	});
	return entries;
};

/** The files of a tree's body, in stored order, by name as text: for trees that this harness named everything in. */
export const eachFile = (oid: Oid, body: Buffer, act: (name: string, oid: Oid) => void): void =>
	eachEntry(oid, body, (mode, name, nul) => {
		if (mode !== "40000") act(body.toString("utf8", name, nul), body.toString("hex", nul + 1, nul + 21));
	});

const orderByte = (entry: TreeEntry, at: number): number =>
	at < entry.name.length ? (entry.name[at] ?? 0) : entry.mode === "40000" ? 0x2f : 0;

/** git's order of tree entries: by bytes, a directory as if its name ended in a slash. */
const compareEntries = (a: TreeEntry, b: TreeEntry): number => {
	const common = Math.min(a.name.length, b.name.length);
	const order = a.name.compare(b.name, 0, common, 0, common);
	return order === 0 ? orderByte(a, common) - orderByte(b, common) : order;
};

const refuseName = (entry: TreeEntry, why: string): LernieError => {
	const name = entry.name.toString("utf8");
	return new LernieError("GIT", `a tree cannot have an entry ${JSON.stringify(name)}: ${why}`, { name });
};

/** Throws LernieError GIT for an entry that `fsck --strict` refuses. */
export const checkEntry = (entry: TreeEntry): void => {
	const { name } = entry;
	if (name.length === 0) throw refuseName(entry, "the name is empty");
	if (name.includes(0) || name.includes(0x2f)) throw refuseName(entry, "the name has a NUL or a slash");
	if (name[0] === 0x2e && (name.length === 1 || (name.length === 2 && name[1] === 0x2e))) {
		throw refuseName(entry, "the name is a relative directory");
	}
	if (isDotGit(name.toString("latin1"))) throw refuseName(entry, "git takes it for its own directory");
	if (!isOid(entry.oid)) throw refuseName(entry, "its object id is malformed");
};

const sorted = (entries: readonly TreeEntry[]): readonly TreeEntry[] => {
	const inOrder = entries.every((entry, at) => {
		const before = entries[at - 1];
		return before === undefined || compareEntries(before, entry) < 0;
	});
	return inOrder ? [...entries] : entries.toSorted(compareEntries);
};

interface EncodedEntry {
	readonly key: string;
	readonly bytes: Buffer;
}

/** A tree that grows by one entry is written again whole; its other entries were checked and encoded before. */
const encodedEntries = new WeakMap<TreeEntry, EncodedEntry>();

const encodeEntry = (entry: TreeEntry): EncodedEntry => {
	const known = encodedEntries.get(entry);
	if (known !== undefined) return known;
	checkEntry(entry);
	const parts = [Buffer.from(`${entry.mode} `, "latin1"), entry.name, NUL, Buffer.from(entry.oid, "hex")];
	const encoded = { key: entry.name.toString("latin1"), bytes: Buffer.concat(parts) };
	encodedEntries.set(entry, encoded);
	return encoded;
};

/** Sorts and encodes a tree. Throws LernieError GIT for a name git refuses and for two entries of one name. */
export const encodeTree = (given: readonly TreeEntry[]): { entries: readonly TreeEntry[]; body: Buffer } => {
	const entries = sorted(given);
	const encoded = entries.map(encodeEntry);
	if (new Set(encoded.map(({ key }) => key)).size !== entries.length) {
		throw new LernieError("GIT", "a tree cannot have two entries of one name", { entries: entries.length });
	}
	return { entries, body: Buffer.concat(encoded.map(({ bytes }) => bytes)) };
};

export interface CommitFields {
	readonly tree: Oid;
	readonly parents: readonly Oid[];
	readonly message: string;
	readonly at: Date;
}

/** The body of a commit by the harness itself. Throws LernieError GIT for a time before 1970 and a NUL in the message. */
export const encodeCommit = ({ tree, parents, message, at }: CommitFields): Buffer => {
	const seconds = Math.floor(at.getTime() / 1000);
	if (!(seconds >= 0)) throw new LernieError("GIT", "a commit needs a time after 1970", { at: String(at) });
	if (message.includes("\0")) throw new LernieError("GIT", "a commit message cannot have a NUL");
	if (![tree, ...parents].every(isOid))
		throw new LernieError("GIT", "a commit needs whole object ids", { tree, parents });
	const lines = [
		`tree ${tree}`,
		...parents.map((parent) => `parent ${parent}`),
		`author ${IDENTITY} ${seconds} +0000`,
		`committer ${IDENTITY} ${seconds} +0000`,
	];
	return Buffer.from(`${lines.join("\n")}\n\n${message}`, "utf8");
};

/** Reads a commit's body, whoever wrote it. Throws LernieError GIT for a damaged one. */
export const parseCommit = (oid: Oid, body: Buffer): Commit => {
	const end = body.indexOf("\n\n");
	const headers = body.toString("utf8", 0, end < 0 ? body.length : end).split("\n");
	const values = (key: string): string[] =>
		headers.filter((line) => line.startsWith(`${key} `)).map((line) => line.slice(key.length + 1));
	const [tree] = values("tree");
	const seconds = Number(values("committer")[0]?.match(/ (\d+) [+-]\d{4}$/)?.[1]);
	if (tree === undefined || !isOid(tree) || !Number.isSafeInteger(seconds)) throw damaged(oid, "the commit is damaged");
	return { oid, tree, parents: values("parent"), seconds, message: end < 0 ? "" : body.toString("utf8", end + 2) };
};
