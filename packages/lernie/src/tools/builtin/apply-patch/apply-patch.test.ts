import {
	chmodSync,
	chownSync,
	linkSync,
	mkdirSync,
	readFileSync,
	renameSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { shippedTools } from "../../definitions.ts";
import { CHANGE, createPatchWorld, type PatchWorld, snapshotOf } from "./patch-fixture.ts";

let place: PatchWorld;
beforeEach(() => {
	place = createPatchWorld();
});
afterEach(() => place.remove());

describe("what is applied", () => {
	test("adds, updates, moves and deletes, with the directories that are needed", async () => {
		mkdirSync(join(place.cwd, "d"));
		for (const name of ["a", "d/b", "gone"]) place.put(name);
		const sections = [
			...["*** Add File: x/y/new", "+1", "+2", "*** Add File: x/empty", "*** Update File: a", ...CHANGE],
			...["*** Update File: d/b", "*** Move to: x/y/b", ...CHANGE, "*** Delete File: gone"],
		];
		const hunks = [{ rung: "exact", line: 1 }];
		expect(await place.filesOf(...sections)).toEqual([
			{ path: "x/y/new", op: "add" },
			{ path: "x/empty", op: "add" },
			{ path: "a", op: "update", hunks },
			{ path: "d/b", op: "update", moved_to: "x/y/b", hunks },
			{ path: "gone", op: "delete" },
		]);
		expect(snapshotOf(place.cwd)).toMatchObject({
			"x/y/new": "file 644 1\n2\n",
			"x/empty": "file 644 ",
			"x/y/b": "file 644 new\n",
			a: "file 644 new\n",
		});
		expect(Object.keys(snapshotOf(place.cwd)).sort()).toEqual(["a", "d", "x", "x/empty", "x/y", "x/y/b", "x/y/new"]);
		expect(place.sites).toEqual(["tool.input", ...Array(5).fill("patch.written"), "tool.exited", "tool.output"]);
	});

	test("the example of the description does what it says", async () => {
		const { description } = shippedTools.get("apply_patch") ?? {};
		const [example] = /\*\*\* Begin Patch\n.*\*\*\* End Patch/s.exec(description ?? "") ?? [""];
		mkdirSync(join(place.cwd, "src"));
		const main = ["class App:", "    def run(self):", "        setup()", "        start()", "        wait()", ""].join(
			"\n",
		);
		place.put("src/app.py", main);
		place.put("README.md", "the last line that is there\n");
		place.put("old.txt");
		const text = await place.run(example);
		expect(text).toContain('{"status":"applied"');
		expect(readFileSync(join(place.cwd, "src/main.py"), "utf8")).toBe(main.replace("start()", "start(retries=3)"));
		expect(readFileSync(join(place.cwd, "README.md"), "utf8")).toBe(
			"the last line that is there\none more at the end\n",
		);
	});

	test("a file keeps its mode when it is updated or moved, and its other names keep the old content", async () => {
		chmodSync(place.put("run"), 0o751);
		chmodSync(place.put("secret"), 0o600);
		linkSync(join(place.cwd, "run"), join(place.cwd, "other"));
		await place.filesOf("*** Update File: run", ...CHANGE, "*** Update File: secret", "*** Move to: moved", ...CHANGE);
		expect(snapshotOf(place.cwd)).toEqual({ run: "file 751 new\n", moved: "file 600 new\n", other: "file 751 old\n" });
	});

	test("two names of one file are two files", async () => {
		linkSync(place.put("a"), join(place.cwd, "b"));
		await place.filesOf("*** Update File: a", ...CHANGE, "*** Delete File: b");
		expect(snapshotOf(place.cwd)).toEqual({ a: "file 644 new\n" });
	});

	test.skipIf(process.getuid?.() !== 0)("a file of another user stays theirs", async () => {
		chownSync(place.put("a"), 4711, 4712);
		await place.filesOf("*** Update File: a", ...CHANGE);
		expect(statSync(join(place.cwd, "a"))).toMatchObject({ uid: 4711, gid: 4712 });
	});

	test("a delete removes a link itself, wherever it leads", async () => {
		place.put("a");
		for (const [name, target] of [
			["l", "a"],
			["dangling", "nowhere"],
			["out", place.root],
			["null", "/dev/null"],
		])
			symlinkSync(target ?? "", join(place.cwd, name ?? ""));
		await place.filesOf(...["l", "dangling", "out", "null"].map((name) => `*** Delete File: ${name}`));
		expect(snapshotOf(place.cwd)).toEqual({ a: "file 644 old\n" });
	});

	test("absolute paths and paths that climb stand, links in directories are followed inside", async () => {
		const outside = join(place.root, "outside");
		mkdirSync(join(place.cwd, "d"));
		symlinkSync("d", join(place.cwd, "into"));
		symlinkSync(join(place.cwd, "d"), join(place.cwd, "d/self"));
		await place.filesOf(
			...[
				`*** Add File: ${outside}`,
				"+1",
				"*** Add File: ../../../climbed",
				"+2",
				"*** Add File: into/self/new/f",
				"+3",
			],
			...["*** Add File: nowhere/../plain", "+4"],
		);
		expect(readFileSync(outside, "utf8") + readFileSync(join(place.root, "climbed"), "utf8")).toBe("1\n2\n");
		expect(snapshotOf(place.cwd)).toMatchObject({ "d/new/f": "file 644 3\n", plain: "file 644 4\n" });
	});
});

describe("a write that fails midway", () => {
	const update = (path: string) => [`*** Update File: ${path}`, ...CHANGE];

	test("takes back every kind of change, and leaves nothing of its own", async () => {
		for (const name of ["a", "b", "gone", "last"]) chmodSync(place.put(name), 0o640);
		symlinkSync("a", join(place.cwd, "l"));
		const before = snapshotOf(place.cwd);
		const spoil = () => writeFileSync(join(place.cwd, "last"), "theirs, and longer\n");
		const why = await place.spoiled(
			5,
			spoil,
			...["*** Add File: new/f", "+1", ...update("a"), "*** Update File: b", "*** Move to: new/b", ...CHANGE],
			...["*** Delete File: gone", "*** Delete File: l", ...update("last"), "*** Add File: x/never"],
		);
		expect(why).toBe("last: it changed while the patch was being applied; nothing was changed");
		expect(snapshotOf(place.cwd)).toEqual({ ...before, last: "file 640 theirs, and longer\n" });
	});

	test("does not put a file over one that came meanwhile", async () => {
		place.put("a");
		const why = await place.spoiled(1, () => place.put("b", "theirs"), ...update("a"), "*** Add File: b", "+1");
		expect(why).toBe("b: it exists now; nothing was changed");
		expect(snapshotOf(place.cwd)).toEqual({ a: "file 644 old\n", b: "file 644 theirs" });
	});

	test.each([
		["d/f", /^d\/f: E[A-Z]+: .*; nothing was changed$/],
		["d/e/f", /^d\/e\/f: the directory .*\/d\/e changed meanwhile; nothing was changed$/],
	])("does not follow a link that took the place of a directory of %s meanwhile", async (path, why) => {
		mkdirSync(join(place.cwd, "d/e"), { recursive: true });
		for (const name of ["a", path]) place.put(name);
		const moved = join(place.root, "moved");
		const spoil = () => {
			renameSync(join(place.cwd, "d"), moved);
			symlinkSync(moved, join(place.cwd, "d"));
		};
		expect(await place.spoiled(1, spoil, ...update("a"), ...update(path))).toMatch(why);
		expect(readFileSync(join(place.cwd, path), "utf8")).toBe("old\n");
		expect(readFileSync(join(place.cwd, "a"), "utf8")).toBe("old\n");
	});

	test("says what could not be taken back and what was not applied", async () => {
		for (const path of ["d", "e"]) mkdirSync(join(place.cwd, path));
		for (const name of ["d/a", "e/gone", "b", "c"]) place.put(name);
		const spoil = () => {
			for (const path of ["d", "e"]) rmSync(join(place.cwd, path), { recursive: true });
			place.put("b", "theirs, and longer\n");
		};
		const why = await place.spoiled(
			2,
			spoil,
			...[...update("d/a"), "*** Delete File: e/gone", ...update("b"), ...update("c"), "*** Add File: new", "+1"],
		);
		expect(why).toBe(
			"b: it changed while the patch was being applied; " +
				"d/a was written and could not be taken back (ENOENT: no such file or directory), " +
				"e/gone was removed and could not be taken back (ENOENT: no such file or directory); not applied: b, c, new",
		);
		expect(snapshotOf(place.cwd)).toEqual({ b: "file 644 theirs, and longer\n", c: "file 644 old\n" });
	});
});
