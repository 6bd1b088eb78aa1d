/**
 * Our own writer of packs of whole blobs: a snapshot of thousands of new files as one file and three fsyncs. git's
 * `pack-objects` takes only objects that are in the store already.
 */
import { createHash, randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, readSync, renameSync, unlinkSync, writeSync } from "node:fs";
import { join } from "node:path";
import { constants, crc32, deflateSync } from "node:zlib";
import { createTemporary, temporaryIn, writeAll } from "./loose.ts";
import { syncDirectory } from "./sync.ts";
import type { ObjectStats, Oid } from "./types.ts";

export interface PackWriter {
	has(oid: Oid): boolean;
	/** Adds a blob that is not in it. */
	add(oid: Oid, body: Buffer): void;
	/** Bytes so far. */
	size(): number;
	/** Puts the pack into the store, durable. To be called once more where it throws; then nothing else. */
	finish(): ObjectStats;
}

interface Entry {
	readonly oid: Oid;
	readonly offset: number;
	readonly crc: number;
}

const BLOB = 3;
const HEADER = 12;
const CHUNK = 1024 * 1024;
/** What a list and the end of a pack take beside the entries, and what an entry takes in a list. */
const LIST_FRAME = 8 + 256 * 4 + 20 + 20 + 20;
const LIST_ENTRY = 28;

const uint32 = (value: number): Buffer => {
	const bytes = Buffer.alloc(4);
	bytes.writeUInt32BE(value);
	return bytes;
};

/** Type and size of an entry: four bits of the size, then seven a byte, the top bit set where another byte follows. */
const entryHeader = (size: number): Buffer => {
	const bytes = [(BLOB << 4) | (size & 0x0f)];
	for (let rest = Math.floor(size / 16); rest > 0; rest = Math.floor(rest / 128)) {
		bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 0x80;
		bytes.push(rest & 0x7f);
	}
	return Buffer.from(bytes);
};

/** A file without a name, in the same file system: whatever becomes of this process, nothing of it stays. */
const openNameless = (directory: string): number => {
	const path = temporaryIn(directory);
	const fd = openSync(path, "wx+", 0o600);
	unlinkSync(path);
	return fd;
};

/** The list of a pack, version 2: counts by first byte, ids, checksums, places, and what the pack ends with. */
const listOf = (entries: readonly Entry[], packId: Buffer): Buffer => {
	const sorted = [...entries].sort((a, b) => (a.oid < b.oid ? -1 : 1));
	const counts = new Array<number>(256).fill(0);
	for (const { oid } of sorted) {
		const first = Number.parseInt(oid.slice(0, 2), 16);
		counts[first] = (counts[first] ?? 0) + 1;
	}
	let sum = 0;
	const fanout = counts.map((count) => {
		sum += count;
		return uint32(sum);
	});
	const body = Buffer.concat([
		Buffer.from([0xff, 0x74, 0x4f, 0x63]),
		uint32(2),
		...fanout,
		...sorted.map(({ oid }) => Buffer.from(oid, "hex")),
		...sorted.map(({ crc }) => uint32(crc)),
		...sorted.map(({ offset }) => uint32(offset)),
		packId,
	]);
	return Buffer.concat([body, createHash("sha1").update(body).digest()]);
};

const placeFile = <Result>(path: string, write: (fd: number) => Result): Result => {
	const fd = createTemporary(path);
	try {
		const result = write(fd);
		fsyncSync(fd);
		return result;
	} catch (error) {
		unlinkSync(path);
		throw error;
	} finally {
		closeSync(fd);
	}
};

/** A pack has less than 2 GiB: places beyond that take another form. */
export const PACK_LIMIT = 1024 * 1024 * 1024;

export const createPackWriter = (objects: string): PackWriter => {
	const directory = join(objects, "pack");
	const spool = openNameless(objects);
	const entries: Entry[] = [];
	const known = new Set<Oid>();
	let waiting: Buffer[] = [];
	let waitingBytes = 0;
	let bytes = 0;

	/** Writes what waits at its place, so that it can be done again where it failed half way. */
	const drain = (): void => {
		const part = Buffer.concat(waiting, waitingBytes);
		const start = bytes - waitingBytes;
		for (let at = 0; at < part.length; ) at += writeSync(spool, part, at, part.length - at, start + at);
		waiting = [];
		waitingBytes = 0;
	};
	/** Writes the pack from the spool and answers the hash it ends with, which is its name. */
	const writePack = (fd: number): Buffer => {
		const hash = createHash("sha1");
		const put = (part: Buffer): void => {
			hash.update(part);
			writeAll(fd, part);
		};
		put(Buffer.concat([Buffer.from("PACK"), uint32(2), uint32(entries.length)]));
		const chunk = Buffer.allocUnsafe(CHUNK);
		for (let at = 0; at < bytes; ) {
			const got = readSync(spool, chunk, 0, Math.min(CHUNK, bytes - at), at);
			put(chunk.subarray(0, got));
			at += got;
		}
		const id = hash.digest();
		writeAll(fd, id);
		return id;
	};
	return {
		has: (oid) => known.has(oid),
		add: (oid, body) => {
			const header = entryHeader(body.length);
			const content = deflateSync(body, { level: constants.Z_BEST_SPEED, chunkSize: body.length + 64 });
			entries.push({ oid, offset: HEADER + bytes, crc: crc32(content, crc32(header)) });
			known.add(oid);
			waiting.push(header, content);
			waitingBytes += header.length + content.length;
			bytes += header.length + content.length;
			if (waitingBytes >= CHUNK) drain();
		},
		size: () => bytes,
		finish: () => {
			drain();
			const random = randomBytes(9).toString("hex");
			const [pack, list] = [join(directory, `tmp_pack_${random}`), join(directory, `tmp_idx_${random}`)];
			const id = placeFile(pack, writePack);
			try {
				placeFile(list, (fd) => writeAll(fd, listOf(entries, id)));
			} catch (error) {
				unlinkSync(pack);
				throw error;
			}
			// git takes a pack for one once its list is there.
			const name = join(directory, `pack-${id.toString("hex")}`);
			renameSync(pack, `${name}.pack`);
			renameSync(list, `${name}.idx`);
			syncDirectory(directory);
			closeSync(spool);
			return { objects: entries.length, bytes: HEADER + bytes + LIST_FRAME + entries.length * LIST_ENTRY, fsyncs: 3 };
		},
	};
};
