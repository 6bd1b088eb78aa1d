import { closeSync, fstatSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { errnoOf, LernieError, messageOf } from "@lernie/contract";
import { isOid } from "./codec.ts";
import { runGit } from "./command.ts";
import { isSettled } from "./settled.ts";
import type { Oid } from "./types.ts";

// What `git check-ref-format` refuses, and anything that could be read as more than one word.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const BAD_REF = /[\x00-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\/\.|\.lock(?:\/|$)|\.$|\/$/;

/** Throws LernieError GIT unless a text is a full ref name as git allows it. */
export const checkRefName = (ref: string): void => {
	if (!ref.startsWith("refs/") || BAD_REF.test(ref)) {
		throw new LernieError("GIT", `${JSON.stringify(ref)} is not a full ref name`, { ref });
	}
};

const readText = (path: string): string | undefined => {
	try {
		return readFileSync(path, "utf8");
	} catch (error) {
		// A directory is in the place of a ref once refs lie below its name.
		if (["ENOENT", "EISDIR", "ENOTDIR"].includes(errnoOf(error) ?? "")) return undefined;
		throw new LernieError("GIT", `${path} cannot be read: ${messageOf(error)}`, { path }, error);
	}
};

const parsePacked = (text: string): Map<string, Oid> => {
	const refs = new Map<string, Oid>();
	for (const line of text.split("\n")) {
		if (line[40] === " " && isOid(line.slice(0, 40))) refs.set(line.slice(41), line.slice(0, 40));
	}
	return refs;
};

interface PackedRefs {
	readonly key: string;
	readonly refs: ReadonlyMap<string, Oid>;
}

const readPacked = (path: string, known: PackedRefs | undefined): { packed: PackedRefs; keep: boolean } => {
	let fd: number;
	try {
		fd = openSync(path, "r");
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return { packed: { key: "", refs: new Map() }, keep: false };
		throw new LernieError("GIT", `${path} cannot be read: ${messageOf(error)}`, { path }, error);
	}
	try {
		const { ino, size, ctimeNs } = fstatSync(fd, { bigint: true });
		const key = `${ino} ${size} ${ctimeNs}`;
		if (known?.key === key) return { packed: known, keep: true };
		const keep = isSettled(ctimeNs, Date.now());
		return { packed: { key, refs: parsePacked(readFileSync(fd, "utf8")) }, keep };
	} finally {
		closeSync(fd);
	}
};

/** Reads a full ref name to its object, or undefined when there is no such ref; never from memory, so it sees every writer. */
export const createRefReader = (gitDir: string): ((ref: string) => Oid | undefined) => {
	let known: PackedRefs | undefined;
	const resolve = (ref: string, depth: number): Oid | undefined => {
		checkRefName(ref);
		// Loose first: packing writes `packed-refs` before it removes the loose file.
		const text = readText(join(gitDir, ref));
		if (text === undefined) {
			const { packed, keep } = readPacked(join(gitDir, "packed-refs"), known);
			known = keep ? packed : undefined;
			return packed.refs.get(ref);
		}
		const value = text.trimEnd();
		if (isOid(value)) return value;
		if (value.startsWith("ref: ") && depth < 5) return resolve(value.slice(5).trim(), depth + 1);
		throw new LernieError("GIT", `the ref ${ref} is damaged`, { ref });
	};
	return (ref) => resolve(ref, 0);
};

/** Every ref below a prefix (`refs/heads/agents/`, or a part of a name), sorted. Throws LernieError GIT. */
export const listRefs = async (gitDir: string, prefix: string): Promise<{ ref: string; oid: Oid }[]> => {
	const directory = prefix.slice(0, prefix.lastIndexOf("/") + 1);
	checkRefName(`${directory}x`);
	const command = ["for-each-ref", "--format=%(objectname) %(refname)", directory];
	const { code, stdout, stderr } = await runGit({ gitDir, command });
	if (code !== 0) throw new LernieError("GIT", `the refs cannot be listed: ${stderr}`, { prefix });
	return stdout
		.toString("utf8")
		.split("\n")
		.filter((line) => line.startsWith(prefix, 41))
		.map((line) => ({ ref: line.slice(41), oid: line.slice(0, 40) }))
		.sort((a, b) => (a.ref < b.ref ? -1 : 1));
};
