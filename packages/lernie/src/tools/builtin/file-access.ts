import type { FileHandle } from "node:fs/promises";
import { isAbsolute, relative, sep } from "node:path";

/** Whether a path is a directory or lies beneath it; both are absolute and without `..`. */
export const lies = (path: string, directory: string): boolean => {
	const way = relative(directory, path);
	return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
};

/** The first `most` bytes of an open file, or all where it has fewer. */
export const readUpTo = async (file: FileHandle, most: number): Promise<Buffer> => {
	const bytes = Buffer.allocUnsafe(most);
	let filled = 0;
	while (filled < most) {
		const { bytesRead } = await file.read(bytes, filled, most - filled, null);
		if (bytesRead === 0) break;
		filled += bytesRead;
	}
	return bytes.subarray(0, filled);
};
