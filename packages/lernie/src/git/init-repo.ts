import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { CONFIG_REF_ROOT, LernieError, messageOf } from "@lernie/contract";
import { writeAll } from "./loose.ts";
import { syncDirectory } from "./sync.ts";

const HEAD = `ref: ${CONFIG_REF_ROOT}default\n`;

/** For people who run git in the record by hand; the harness states the same on every command line. */
const CONFIG = `[core]
	repositoryformatversion = 0
	filemode = true
	bare = true
	logAllRefUpdates = false
	hooksPath = /dev/null
	fsmonitor = false
	fsync = loose-object,reference
	fsyncMethod = fsync
[gc]
	auto = 0
[maintenance]
	auto = false
[receive]
	autogc = false
`;

const placeFile = (path: string, text: string): void => {
	if (existsSync(path)) return;
	const temporary = `${path}.new`;
	const fd = openSync(temporary, "w", 0o644);
	try {
		writeAll(fd, Buffer.from(text));
		fsyncSync(fd);
	} finally {
		closeSync(fd);
	}
	renameSync(temporary, path);
};

const placeAll = (root: string): void => {
	const made = mkdirSync(root, { recursive: true });
	const directories = ["objects", "objects/info", "objects/pack", "refs", "refs/heads", "refs/tags"];
	for (const name of directories) mkdirSync(join(root, name), { recursive: true });
	for (const name of directories.toReversed()) syncDirectory(join(root, name));
	placeFile(join(root, "config"), CONFIG);
	// Last: git takes a directory without HEAD for no repository.
	placeFile(join(root, "HEAD"), HEAD);
	syncDirectory(root);
	for (let at = root; made !== undefined && at.startsWith(made); at = dirname(at)) syncDirectory(dirname(at));
};

/**
 * Makes a bare repository for the record (DESIGN §4, D5), durable when it resolves; what is there already stays, so a run that
 * was killed is completed by the next. Written here and not by `git init`, so that no template, default branch or object
 * format of the machine has a say and each file is synced. Throws LernieError DISK.
 */
export const initRepo = async (gitDir: string): Promise<void> => {
	try {
		placeAll(resolve(gitDir));
	} catch (error) {
		throw new LernieError("DISK", `${gitDir} cannot be made: ${messageOf(error)}`, { gitDir }, error);
	}
};
