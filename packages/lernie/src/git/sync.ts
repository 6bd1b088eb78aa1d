import { closeSync, fsyncSync, openSync } from "node:fs";

/** Makes the names in a directory durable (D6). */
export const syncDirectory = (path: string): void => {
	const fd = openSync(path, "r");
	try {
		fsyncSync(fd);
	} finally {
		closeSync(fd);
	}
};
