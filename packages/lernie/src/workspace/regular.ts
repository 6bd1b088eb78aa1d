import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { errnoOf } from "@lernie/contract";

/**
 * The text of a regular file, or undefined where there is none. A tool can put a pipe in the place of a record, and reading
 * one waits for a writer.
 */
export const readRegular = (path: string): string | undefined => {
	let fd: number;
	try {
		fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
	} catch (thrown) {
		const errno = errnoOf(thrown);
		if (errno === "ENOENT" || errno === "ENOTDIR" || errno === "ENXIO" || errno === "ELOOP") return undefined;
		throw thrown;
	}
	try {
		return fstatSync(fd).isFile() ? readFileSync(fd, "utf8") : undefined;
	} finally {
		closeSync(fd);
	}
};

/** The JSON value of a regular file, or undefined where there is no whole one. */
export const readJsonFile = (path: string): unknown => {
	try {
		return JSON.parse(readRegular(path) ?? "");
	} catch (thrown) {
		if (thrown instanceof SyntaxError) return undefined;
		throw thrown;
	}
};
