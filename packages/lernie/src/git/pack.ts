import { closeSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { errnoOf, LernieError } from "@lernie/contract";
import { tryLock } from "../process/flock.ts";
import { runGit } from "./command.ts";

/** From about this many loose objects on they are packed: fewer cost nobody anything. */
const MANY = 6_000;

/** Ids are spread evenly over 256 directories: these few stand for all. */
const SAMPLE = ["17", "5c", "a1", "e6"];

const SETTINGS = [
	// A pack takes the place of objects that were durable.
	"core.fsync=loose-object,pack,pack-metadata,reference",
	// What is large is streamed and not compared with anything, so that memory stays small.
	"core.bigFileThreshold=1m",
	"pack.windowMemory=32m",
	"pack.threads=1",
	"repack.updateServerInfo=false",
	"repack.writeBitmaps=false",
];

const namesIn = (directory: string): readonly string[] => {
	try {
		return readdirSync(directory);
	} catch (error) {
		if (errnoOf(error) === "ENOENT") return [];
		throw error;
	}
};

/** About how many objects lie loose in the store. */
const estimateLoose = (objects: string): number =>
	SAMPLE.reduce((sum, name) => sum + namesIn(join(objects, name)).length, 0) * (256 / SAMPLE.length);

/**
 * Puts loose objects into a pack once there are many of them: they are read in a third of the time and take a hundredth of
 * the space. Every object stays readable at every moment, so that others may read and write meanwhile; what no ref leads to
 * stays loose. Does nothing where another process packs. Answers whether it packed; throws LernieError GIT.
 */
export const packLoose = async (gitDir: string, many = MANY): Promise<boolean> => {
	const objects = join(gitDir, "objects");
	if (estimateLoose(objects) < many) return false;
	const lock = openSync(join(objects, "pack"), "r");
	try {
		// Again, because another may have packed while this one waited for its turn.
		if (!(await tryLock(lock, 0)) || estimateLoose(objects) < many) return false;
		const { code, stderr } = await runGit({ gitDir, command: ["repack", "-d", "-q"], settings: SETTINGS });
		if (code !== 0) throw new LernieError("GIT", `the record could not be packed: ${stderr}`, { gitDir });
		return true;
	} finally {
		closeSync(lock);
	}
};
