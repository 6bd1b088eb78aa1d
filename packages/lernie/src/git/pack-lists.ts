import { closeSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { errnoOf } from "@lernie/contract";
import type { Oid } from "./types.ts";

/** Which objects lie in packs, by the lists beside them: one look where asking git is a round trip an object. */
export interface PackLists {
	/** False also for an object of a pack that came since this was opened, or whose list cannot be read. */
	has(oid: Oid): boolean;
}

const MAGIC = Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]);
const FANOUT = 256 * 4;
const ID = 20;

/** The sorted ids of one list (`pack-*.idx`, version 2), with the counts by first byte before them. */
const readList = (path: string): Buffer | undefined => {
	let fd: number;
	try {
		fd = openSync(path, "r");
	} catch (error) {
		// Another process packed anew meanwhile.
		if (errnoOf(error) === "ENOENT") return undefined;
		throw error;
	}
	try {
		const head = Buffer.alloc(MAGIC.length + FANOUT);
		const whole = readSync(fd, head, 0, head.length, 0) === head.length && head.subarray(0, MAGIC.length).equals(MAGIC);
		const length = whole ? FANOUT + head.readUInt32BE(MAGIC.length + FANOUT - 4) * ID : 0;
		if (!whole || fstatSync(fd).size < MAGIC.length + length) return undefined;
		const list = Buffer.allocUnsafe(length);
		return readSync(fd, list, 0, length, MAGIC.length) === length ? list : undefined;
	} finally {
		closeSync(fd);
	}
};

const listHas = (list: Buffer, id: Buffer): boolean => {
	const first = id[0] ?? 0;
	let low = first === 0 ? 0 : list.readUInt32BE((first - 1) * 4);
	let high = list.readUInt32BE(first * 4);
	while (low < high) {
		const middle = (low + high) >>> 1;
		const at = FANOUT + middle * ID;
		const order = id.compare(list, at, at + ID);
		if (order === 0) return true;
		if (order < 0) high = middle;
		else low = middle + 1;
	}
	return false;
};

const listNames = (directory: string): readonly string[] => {
	try {
		return readdirSync(directory).filter((name) => name.endsWith(".idx"));
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return [];
		throw error;
	}
};

/** Looks for packs now, and reads a list when it is first asked. `known` keeps lists by name: a pack never changes. */
export const openPackLists = (objects: string, known: Map<string, Buffer>): PackLists => {
	const directory = join(objects, "pack");
	const names = listNames(directory);
	for (const name of known.keys()) if (!names.includes(name)) known.delete(name);
	const listOf = (name: string): Buffer | undefined => {
		const list = known.get(name) ?? readList(join(directory, name));
		if (list !== undefined) known.set(name, list);
		return list;
	};
	return {
		has: (oid) => {
			const id = Buffer.from(oid, "hex");
			return names.some((name) => {
				const list = listOf(name);
				return list !== undefined && listHas(list, id);
			});
		},
	};
};
