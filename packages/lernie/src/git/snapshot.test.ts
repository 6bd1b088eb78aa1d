import { execFileSync } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	renameSync,
	rmSync,
	symlinkSync,
	utimesSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { withFixture } from "./fixture.ts";
import { createSnapshotCache, materialise, snapshotDirectory } from "./snapshot.ts";
import { expectSameDirectory, put, take } from "./snapshot-fixture.ts";

test("a snapshot written out again is the directory, byte for byte", () =>
	withFixture(async (fixture) => {
		const { dir } = fixture;
		put(dir, {
			"crlf.txt": "one\r\ntwo\r\n",
			".gitattributes": "* text=auto eol=lf\n*.bin filter=lfs diff=lfs\n*.id ident\n",
			"a.bin": Buffer.from([0, 13, 10, 255]),
			"x.id": "$Id$\n",
			empty: "",
			"deep/er/still/file": "x",
			"a/b": "tree a",
			"a.b": "file a.b",
			":(glob)colon": "x",
			"new\nline": "x",
		});
		for (const bytes of [Buffer.from([0x66, 0xff, 0xfe]), Buffer.from("naïve ✓")]) {
			writeFileSync(Buffer.concat([Buffer.from(`${dir}/`), bytes]), "raw name");
		}
		put(dir, { "run.sh": "#!/bin/sh\n" });
		chmodSync(join(dir, "run.sh"), 0o755);
		symlinkSync("../outside", join(dir, "link"));
		symlinkSync(Buffer.from([0x78, 0xff]), join(dir, "raw-link"));
		symlinkSync(".", join(dir, "deep", "loop"));
		const taken = await take(fixture);
		expect(taken.unrecorded).toEqual([]);
		expect(taken.restored).toBe(0);
		await expectSameDirectory(fixture, taken);
	}));

test("an empty directory vanishes, a nested repository is plain files, and .git is left out in every spelling", () =>
	withFixture(async (fixture) => {
		const { dir } = fixture;
		mkdirSync(join(dir, "empty", "inner"), { recursive: true });
		put(dir, { "nested/file": "x", "nested/.gitignore": "*.log\n", "nested/a.log": "x", "nested/.git/HEAD": "x" });
		execFileSync("git", ["init", "-q", join(dir, "unborn")]);
		put(dir, { "unborn/file": "x" });
		for (const name of [".GIT", "git~1", ".git ", ".git.", ".git::$INDEX_ALLOCATION", ".g\u200cit", "sub/.Git"]) {
			put(dir, { [`${name}/config`]: "x" });
		}
		put(dir, { "gitlink/.git": "gitdir: /elsewhere\n", "gitlink/file": "x", ".gitx": "x" });
		mkdirSync(join(dir, "modules"));
		symlinkSync("x", join(dir, "modules", ".gitmodules"));
		symlinkSync("x", join(dir, "modules", ".GitModules"));
		symlinkSync("x", join(dir, "modules", "gi7eba~1"));
		const taken = await take(fixture);
		expect(taken.paths).toEqual([".gitx", "gitlink/file", "nested/.gitignore", "nested/file", "unborn/file"]);
		const dotGit = [".GIT", "git~1", ".git ", ".git.", ".git::$INDEX_ALLOCATION", ".g\u200cit", "sub/.Git"];
		const repositories = ["gitlink/.git", "nested/.git", "unborn/.git"];
		const links = ["modules/.GitModules", "modules/.gitmodules", "modules/gi7eba~1"];
		expect(taken.left).toEqual({
			...Object.fromEntries([...dotGit, ...repositories].map((path) => [path, "git takes it for its own"])),
			...Object.fromEntries(links.map((path) => [path, "git refuses a link of this name"])),
		});
	}));

test(".gitignore decides as in git, below its directory", () =>
	withFixture(async (fixture) => {
		const { dir } = fixture;
		put(dir, {
			".gitignore": "*.log\n/build/\n!keep.log\nmessages\n",
			"a.log": "x",
			"keep.log": "x",
			"build/out/file": "x",
			"src/build/file": "x",
			"src/.gitignore": "*.tmp\n",
			"src/a.tmp": "x",
			"src/deep/b.tmp": "x",
			"a.tmp": "x",
			":(exclude)c.log": "x",
			"nested/.git/HEAD": "x",
			"nested/d.log": "x",
			"nested/e.txt": "x",
			"messages/001-user.md": "x",
			"goal.md": "x",
		});
		symlinkSync("src", join(dir, "link"));
		const taken = await take(fixture);
		expect(taken.paths).toEqual([
			".gitignore",
			"a.tmp",
			"keep.log",
			"link",
			"nested/e.txt",
			"src/.gitignore",
			"src/build/file",
		]);
		expect(taken.restored).toBe(2);
		writeFileSync(join(dir, ".gitignore"), "*\n");
		expect((await take(fixture)).paths).toEqual([]);
		expect((await take(fixture)).restored).toBe(2);
	}));

test("what git said of a name is asked again when the name becomes a file, is moved, or the rules change", () =>
	withFixture(async (fixture) => {
		const { dir } = fixture;
		put(dir, { ".gitignore": "build/\nb/c/f\n", "build/out": "x", "a/c/f": "x", "a/c/g": "x", "b/h": "x" });
		const cache = createSnapshotCache();
		const paths = async (): Promise<readonly string[]> => {
			await sleep(150);
			return (await take(fixture, cache)).paths;
		};
		expect(await paths()).toEqual([".gitignore", "a/c/f", "a/c/g", "b/h"]);
		rmSync(join(dir, "build"), { recursive: true });
		put(dir, { build: "a file" });
		renameSync(join(dir, "a/c"), join(dir, "b/c"));
		expect(await paths()).toEqual([".gitignore", "b/c/g", "b/h", "build"]);
		put(dir, { ".gitignore": "build/\nb/c/g\n" });
		expect(await paths()).toEqual([".gitignore", "b/c/f", "b/h", "build"]);
		put(dir, { "b/.gitignore": "h\n" });
		expect(await paths()).toEqual([".gitignore", "b/.gitignore", "b/c/f", "build"]);
		renameSync(join(dir, "b/.gitignore"), join(dir, "b/gitignore"));
		expect(await paths()).toEqual([".gitignore", "b/c/f", "b/gitignore", "b/h", "build"]);
	}));

test("files in the harness's places are counted and left out, at the root only", () =>
	withFixture(async (fixture) => {
		const { dir } = fixture;
		put(dir, {
			"goal.md": "mine",
			"messages/001-user.md": "x",
			"messages/256/257-x": "x",
			"sub/goal.md": "work",
			f: "x",
		});
		mkdirSync(join(dir, "messages", "empty"));
		const taken = await take(fixture);
		expect(taken.paths).toEqual(["f", "sub/goal.md"]);
		expect(taken.restored).toBe(3);
	}));

test("an unchanged directory is not read again and writes nothing", () =>
	withFixture(async (fixture) => {
		const { dir, repo } = fixture;
		put(dir, Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`d${at % 5}/f${at}`, `body ${at}`])));
		const cache = createSnapshotCache();
		await sleep(150);
		const first = await take(fixture, cache);
		expect(first.reads).toBe(50);
		const before = repo.stats();
		const second = await take(fixture, cache);
		expect(second.reads).toBe(0);
		expect(second.entries).toEqual(first.entries);
		expect(repo.stats()).toEqual(before);
		writeFileSync(join(dir, "d0", "f0"), "changed");
		const third = await take(fixture, cache);
		expect(third.reads).toBe(1);
		expect(third.entries).not.toEqual(first.entries);
	}));

test(
	"an edit of the same size and the same mtime right after a snapshot is seen",
	() =>
		withFixture(async (fixture) => {
			const { dir, repo } = fixture;
			const cache = createSnapshotCache();
			const time = new Date(1_600_000_000_000);
			put(dir, { f: "" });
			for (let round = 0; round < 12; round += 1) {
				const body = `round ${String(round).padStart(3)}`;
				writeFileSync(join(dir, "f"), body);
				utimesSync(join(dir, "f"), time, time);
				const { commit } = await take(fixture, cache);
				const entry = await repo.find(commit, "f");
				expect((await repo.blob(entry?.oid ?? "")).toString()).toBe(body);
			}
		}),
	30_000,
);

test("objects of a batch that was never flushed are not taken for recorded", () =>
	withFixture(async (fixture) => {
		const { dir, gitDir, repo } = fixture;
		put(dir, { f: "content" });
		await sleep(150);
		const cache = createSnapshotCache();
		await snapshotDirectory({ dir, reserved: [], batch: repo.batch(), cache, gitDir });
		const taken = await take(fixture, cache);
		expect(taken.reads).toBe(1);
		await expectSameDirectory(fixture, taken);
	}));

test("materialise refuses a directory that is not empty", () =>
	withFixture(async ({ repo, root }) => {
		const dir = mkdtempSync(join(root, "full-"));
		await materialise(repo, [], dir);
		put(dir, { f: "x" });
		await expect(materialise(repo, [], dir)).rejects.toMatchObject({ code: "DISK" });
		expect(existsSync(join(dir, "f"))).toBe(true);
	}));
