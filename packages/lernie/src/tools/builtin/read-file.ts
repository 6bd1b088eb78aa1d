import { constants } from "node:fs";
import { type FileHandle, open, readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { errnoOf, messageOf } from "@lernie/contract";
import { lies, readUpTo } from "./file-access.ts";
import { readStrings } from "./input.ts";
import { type Builtin, type BuiltinAnswer, failure, success } from "./types.ts";

const CAP_BYTES = 1_048_576;

/**
 * Where the open file lies, if its path lies beneath the working directory and the file itself does not. Asked of the
 * descriptor and not of the path, so that a link put in its place meanwhile changes nothing (DESIGN §8).
 */
const outsideOf = async (file: FileHandle, path: string, cwd: string): Promise<string | undefined> => {
	const real = await readlink(`/proc/self/fd/${file.fd}`);
	return lies(path, cwd) && !lies(real, await realpath(cwd)) ? real : undefined;
};

const PROC = "/proc/";
const LINKS_MAX = 40;

/**
 * Whether a path leads through `/proc`, by whatever links. This tool runs in the driver: there it would show the driver's
 * own environment and open files, which no tool process is given (DESIGN D10).
 */
const leadsThroughProc = async (path: string): Promise<boolean> => {
	let at = path;
	for (let links = 0; links < LINKS_MAX; links += 1) {
		const place = join(await realpath(dirname(at)), basename(at));
		if (`${place}/`.startsWith(PROC)) return true;
		const target = await readlink(place).catch(() => undefined); // No link: the way ends here.
		if (target === undefined) return false;
		at = resolve(dirname(place), target);
	}
	return true;
};

const answer = async (file: FileHandle, given: string, path: string, cwd: string): Promise<BuiltinAnswer> => {
	const stat = await file.stat();
	if (stat.isDirectory()) return failure("read_file", `read ${given}: it is a directory`);
	// A pipe or a device has no end to wait for.
	if (!stat.isFile()) return failure("read_file", `read ${given}: it is not a regular file`);
	const outside = await outsideOf(file, path, cwd);
	if (outside !== undefined) {
		const why = `it leads out of the working directory, to ${outside}; ask for that path to read it`;
		return failure("read_file", `open ${given}: ${why}`);
	}
	const bytes = await readUpTo(file, CAP_BYTES + 1);
	if (bytes.length <= CAP_BYTES) return success(bytes);
	const size = Math.max(stat.size, bytes.length);
	return failure("read_file", `${given} is ${size} bytes, over the cap ${CAP_BYTES}; read parts of it with bash`);
};

/** `{path}` → the file's bytes, at most 1 MiB, never a part of them (`spec/tools.md` §10.2). */
export const readFile: Builtin = async (input, { cwd }) => {
	const parsed = readStrings(input, ["path"]);
	if (!parsed.ok) return failure("read_file", parsed.why);
	const given = parsed.values.path;
	const path = resolve(cwd, given);
	let file: FileHandle;
	try {
		if (await leadsThroughProc(path))
			return failure(
				"read_file",
				`open ${given}: /proc is not read by this tool; use bash, which has a process of its own`,
			);
		// Not to block: opening a pipe for reading waits for a writer.
		file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
	} catch (thrown) {
		return failure("read_file", `open ${given}: ${errnoOf(thrown) === "ENOENT" ? "no such file" : messageOf(thrown)}`);
	}
	try {
		return await answer(file, given, path, cwd);
	} catch (thrown) {
		if (errnoOf(thrown) === undefined) throw thrown;
		return failure("read_file", `read ${given}: ${messageOf(thrown)}`);
	} finally {
		await file.close();
	}
};
