import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { createRandom, type Random, testSeed } from "../../../../conformance/support/random.ts";
import { type Fixture, withFixture } from "./fixture.ts";
import { createSnapshotCache, type SnapshotCache, snapshotDirectory } from "./snapshot.ts";

const DIRECTORIES = ["", "a", "b", "a/c", "a/c/d", "e"];
const NAMES = ["f", "g.log", "h", "build", "x.tmp", "k"];
const MOVED = ["a/c", "b/c", "c", "a/c/d", "c/d", "d"];
const RULES = ["build/\n", "/c\n", "c/d/k\n", "d/h\n/b/c/f\n", "*.log\n", "/a/c\n", "*\n!f\n", "", "!g.log\n", "h\n"];

/** One thing an agent may do to its files; what is not possible just then is not done. */
const act = (random: Random, dir: string): void => {
	const path = (): string => join(dir, random.pick(DIRECTORIES), random.pick(NAMES));
	const write = (at: string, body: string): void => {
		mkdirSync(dirname(at), { recursive: true });
		writeFileSync(at, body);
	};
	const ways = [
		() => write(path(), `body ${random.below(3)}`),
		() => write(path(), `body ${random.below(3)}`),
		() => write(join(dir, random.pick(DIRECTORIES), ".gitignore"), random.pick(RULES)),
		() => rmSync(path(), { recursive: true }),
		() => rmSync(join(dir, random.pick(DIRECTORIES), ".gitignore")),
		() => mkdirSync(path(), { recursive: true }),
		() => write(join(path(), random.pick(NAMES)), "inside"),
		() => renameSync(path(), path()),
		// A directory is moved with all in it, to where other rules may hold.
		() => renameSync(join(dir, random.pick(MOVED)), join(dir, random.pick(MOVED))),
		() => renameSync(join(dir, random.pick(MOVED)), join(dir, random.pick(MOVED))),
		// What was a file becomes a directory of that name, and back.
		() => {
			const at = join(dir, random.pick(DIRECTORIES), random.pick(["build", "h"]));
			const wasFile = statSync(at, { throwIfNoEntry: false })?.isFile() === true;
			rmSync(at, { recursive: true, force: true });
			write(wasFile ? join(at, "k") : at, "turned");
		},
		() => chmodSync(path(), random.pick([0o644, 0o755])),
		() => symlinkSync(random.pick(["f", "..", "nowhere"]), path()),
	];
	try {
		random.pick(ways)();
	} catch (error) {
		if (!(error instanceof Error && "code" in error)) throw error;
	}
};

const treeOf = async ({ repo, dir, gitDir }: Fixture, cache: SnapshotCache, flush = true): Promise<unknown> => {
	const batch = repo.batch();
	const { entries, unrecorded } = await snapshotDirectory({ dir, reserved: ["goal.md"], batch, cache, gitDir });
	const tree = batch.tree(entries);
	if (flush) await batch.flush();
	return { tree, unrecorded };
};

const ROUNDS = 25;
// What changed longer ago than this is known by its status.
const SETTLED_MS = 110;

test(
	"whatever is done to a directory, a snapshot that knows the ones before it is what one without knowledge is",
	() =>
		withFixture(async (fixture) => {
			const seed = testSeed();
			const random = createRandom(seed);
			mkdirSync(fixture.dir);
			const cache = createSnapshotCache();
			for (let round = 0; round < ROUNDS; round += 1) {
				for (let times = random.below(6); times >= 0; times -= 1) act(random, fixture.dir);
				// Some are taken right after a change, some of settled files, and some are never flushed.
				if (random.below(3) > 0) await sleep(SETTLED_MS);
				if (random.below(4) === 0) await treeOf(fixture, cache, false);
				const known = await treeOf(fixture, cache);
				expect(known, `LERNIE_TEST_SEED=${seed}, round ${round}`).toEqual(await treeOf(fixture, createSnapshotCache()));
			}
			expect(existsSync(fixture.dir)).toBe(true);
			fixture.git("fsck", "--strict", "--no-dangling");
		}),
	60_000,
);
