import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const CHUNK_BYTES = 1024 * 1024;
/** A file changed within this time may change again without a new time stamp, so its digest is not remembered. */
const SETTLED_MS = 2000;

const remembered = new Map<string, string>();

const hash = async (file: FileHandle): Promise<string> => {
	const digest = createHash("sha256");
	const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
	for (;;) {
		const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
		if (bytesRead === 0) return digest.digest("hex");
		digest.update(chunk.subarray(0, bytesRead));
	}
};

const identityOf = async (file: FileHandle): Promise<{ key: string; changedMs: number; regular: boolean }> => {
	const stat = await file.stat({ bigint: true });
	return {
		key: [stat.dev, stat.ino, stat.size, stat.mtimeNs, stat.ctimeNs].join(":"),
		changedMs: Number(stat.ctimeMs),
		regular: stat.isFile(),
	};
};

/**
 * Lower-case hex SHA-256 of a program file, remembered for as long as the file is the same one on disk. Rejects with the
 * system error where it cannot be read, or with an error where it is no regular file.
 */
export const fileDigest = async (path: string): Promise<string> => {
	// Not to block, and only a regular file: a pipe or a device has no end to wait for.
	const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
	try {
		const { key, changedMs, regular } = await identityOf(file);
		if (!regular) throw new Error(`${path} is not a regular file`);
		const known = remembered.get(key);
		if (known !== undefined) return known;
		const digest = await hash(file);
		if ((await identityOf(file)).key === key && Date.now() - changedMs > SETTLED_MS) remembered.set(key, digest);
		return digest;
	} finally {
		await file.close();
	}
};
