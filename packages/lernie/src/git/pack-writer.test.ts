import { createHash } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withFixture } from "./fixture.ts";
import { openPackLists } from "./pack-lists.ts";
import { createPackWriter } from "./pack-writer.ts";

const idOf = (body: Buffer): string => createHash("sha1").update(`blob ${body.length}\0`).update(body).digest("hex");

/** Every length at which the header of an entry gets a byte longer, and one below it. */
const LENGTHS = [0, 1, 15, 16, 2047, 2048, 262_143, 262_144];

test(
	"a pack is to the byte what git would make of it, list and all",
	() =>
		withFixture(async ({ root, gitDir, repo, git }) => {
			const objects = join(gitDir, "objects");
			const writer = createPackWriter(objects);
			const sized = LENGTHS.map((length) => Buffer.alloc(length, "0123456789abcdefg"));
			// Enough that every first byte of an id occurs.
			const many = Array.from({ length: 3000 }, (_, at) => Buffer.from(`file ${at}\n`));
			for (const body of [...sized, ...many]) writer.add(idOf(body), body);
			expect(writer.has(idOf(Buffer.from("file 7\n")))).toBe(true);
			expect(writer.has(idOf(Buffer.from("file 7")))).toBe(false);
			// Nothing of it is to be seen before it is finished.
			expect(readdirSync(objects).filter((name) => name.startsWith("tmp"))).toEqual([]);
			expect(readdirSync(join(objects, "pack"))).toEqual([]);
			const stats = writer.finish();

			const files = readdirSync(join(objects, "pack")).sort();
			const name = /^(pack-[0-9a-f]{40})\.idx$/.exec(files[0] ?? "")?.[1];
			expect(files).toEqual([`${name}.idx`, `${name}.pack`]);
			const [list, pack] = files.map((file) => join(objects, "pack", file)) as [string, string];
			expect(stats).toEqual({
				objects: many.length + sized.length,
				bytes: readFileSync(list).length + readFileSync(pack).length,
				fsyncs: 3,
			});
			git("index-pack", "--strict", "-o", join(root, "git.idx"), pack);
			expect(readFileSync(list).equals(readFileSync(join(root, "git.idx")))).toBe(true);
			expect(git("fsck", "--full", "--strict", "--no-dangling")).toBe("");
			for (const body of sized) expect((await repo.blob(idOf(body))).equals(body)).toBe(true);
			expect((await repo.blob(idOf(Buffer.from("file 2999\n")))).toString()).toBe("file 2999\n");

			const lists = openPackLists(objects, new Map());
			for (const body of [...sized, ...many]) expect(lists.has(idOf(body))).toBe(true);
			for (const id of ["0".repeat(40), "f".repeat(40), idOf(Buffer.from("none"))]) expect(lists.has(id)).toBe(false);
		}),
	30_000,
);

test("lists of packs that are gone, damaged or of another form hide nothing and are no fault", () =>
	withFixture(async ({ gitDir }) => {
		const objects = join(gitDir, "objects");
		const body = Buffer.from("content");
		const writer = createPackWriter(objects);
		writer.add(idOf(body), body);
		writer.finish();
		for (const text of ["", "short", "x".repeat(5000)])
			writeFileSync(join(objects, `pack/pack-${text.length}.idx`), text);
		const known = new Map<string, Buffer>();
		const lists = openPackLists(objects, known);
		rmSync(join(objects, "pack/pack-5.idx"));
		expect(lists.has(idOf(body))).toBe(true);
		expect(lists.has("1".repeat(40))).toBe(false);
		expect(known.size).toBe(1);
		rmSync(join(objects, "pack"), { recursive: true });
		expect(openPackLists(objects, known).has(idOf(body))).toBe(false);
		expect(known.size).toBe(0);
	}));
