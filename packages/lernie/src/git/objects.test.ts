import { spawn } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, truncateSync, unlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Fixture, withFixture } from "./fixture.ts";
import { loosePath } from "./loose.ts";
import { openRepo } from "./repo.ts";

const looseFiles = ({ gitDir }: Fixture): string[] =>
	readdirSync(join(gitDir, "objects"), { recursive: true, encoding: "utf8" }).filter((name) => /^..\/./.test(name));

test("objects read back as they were written and pass fsck --strict", () =>
	withFixture(async ({ repo, git }) => {
		const batch = repo.batch();
		const binary = Buffer.from([0, 10, 13, 255, 0, 10]);
		const blob = batch.blob(binary);
		const empty = batch.blob("");
		const inner = batch.tree([{ mode: "100755", name: Buffer.from("run"), oid: empty }]);
		const tree = batch.tree([
			{ mode: "100644", name: Buffer.from("a.b"), oid: blob },
			{ mode: "40000", name: Buffer.from("a"), oid: inner },
			{ mode: "100644", name: Buffer.from([0x61, 0xff]), oid: blob },
			{ mode: "120000", name: Buffer.from("a-b"), oid: blob },
		]);
		const first = batch.commit({ tree, parents: [], message: "one\n", at: new Date("2024-01-02T03:04:05.678Z") });
		const second = batch.commit({ tree, parents: [first], message: "zwei ✓\n\nKey: v\n", at: new Date(0) });
		await batch.flush();
		await repo.transact([{ kind: "create", ref: "refs/heads/x", oid: second }]);

		expect(git("fsck", "--strict", "--no-dangling")).toBe("");
		expect(await repo.blob(blob)).toEqual(binary);
		expect(await repo.read(empty)).toEqual({ type: "blob", body: Buffer.alloc(0) });
		const names = (await repo.tree(tree)).map(({ name }) => name.toString("latin1"));
		expect(names).toEqual(["a-b", "a.b", "a", "a\xff"]);
		expect(await repo.commit(first)).toEqual({ oid: first, tree, parents: [], seconds: 1704164645, message: "one\n" });
		expect((await repo.commit(second)).parents).toEqual([first]);
		expect((await repo.find(second, "a/run"))?.mode).toBe("100755");
		expect(await repo.find(second, "a/run/x")).toBeUndefined();
		expect(await repo.find(second, "b")).toBeUndefined();
		expect(git("log", "-1", "--format=%an <%ae> %cI %s", first)).toBe(
			"lernie <lernie@localhost> 2024-01-02T03:04:05+00:00 one\n",
		);
		// Read from the disk and not from what writing left in memory.
		const other = openRepo(repo.gitDir);
		expect(await other.commit(second)).toEqual(await repo.commit(second));
		expect(await other.tree(tree)).toEqual(await repo.tree(tree));
		await other.close();
	}));

test("an object is written once, whoever asks for it again", () =>
	withFixture(async (fixture) => {
		const { repo, gitDir } = fixture;
		const write = async (by: typeof repo): Promise<number> => {
			const batch = by.batch();
			batch.tree([{ mode: "100644", name: Buffer.from("f"), oid: batch.blob("same") }]);
			batch.blob("same");
			return (await batch.flush()).objects;
		};
		expect(await write(repo)).toBe(2);
		expect(await write(repo)).toBe(0);
		const other = openRepo(gitDir);
		expect(await write(other)).toBe(0);
		await other.close();
		expect(repo.stats()).toMatchObject({ objects: 2, fsyncs: 2 });
		expect(looseFiles(fixture)).toHaveLength(2);
	}));

test("many objects that lie in a pack are not written again", () =>
	withFixture(async (fixture) => {
		const { repo, git, gitDir } = fixture;
		const files = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`f${at}`, `body ${at}`]));
		const oid = await fixture.commit("many", files);
		await repo.transact([{ kind: "create", ref: "refs/heads/x", oid }]);
		git("repack", "-a", "-d", "-q");
		git("prune-packed", "-q");
		const other = openRepo(gitDir);
		const batch = other.batch();
		for (const body of Object.values(files)) batch.blob(body);
		expect((await batch.flush()).objects).toBe(0);
		expect((await other.commit(oid)).message).toBe("many");
		await other.close();
	}));

test("an empty file in an object's place is written over", () =>
	withFixture(async ({ repo, gitDir, git, commit }) => {
		const oid = await commit("x", { f: "content" });
		const entry = await repo.find(oid, "f");
		const path = loosePath(join(gitDir, "objects"), entry?.oid ?? "");
		chmodSync(path, 0o644);
		truncateSync(path, 0);
		const other = openRepo(gitDir);
		await expect(other.blob(entry?.oid ?? "")).rejects.toMatchObject({ code: "GIT_OBJECT_MISSING" });
		const batch = other.batch();
		batch.blob("content");
		expect((await batch.flush()).objects).toBe(1);
		expect((await other.blob(entry?.oid ?? "")).toString()).toBe("content");
		await other.close();
		expect(git("fsck", "--strict", "--no-dangling")).toBe("");
	}));

test("a missing object is GIT_OBJECT_MISSING, a wrong type is GIT, and neither disturbs other reads", () =>
	withFixture(async ({ repo, commit }) => {
		const oid = await commit("x", { f: "content" });
		const { tree } = await repo.commit(oid);
		const answers = await Promise.allSettled([
			repo.read("0123456789012345678901234567890123456789"),
			repo.blob(tree),
			repo.read(oid),
			repo.read("refs/heads/x"),
			repo.read(tree),
		]);
		expect(
			answers.map((answer) =>
				answer.status === "rejected" ? answer.reason.code : "type" in answer.value ? answer.value.type : "",
			),
		).toEqual(["GIT_OBJECT_MISSING", "GIT", "commit", "GIT_OBJECT_MISSING", "tree"]);
	}));

test("a damaged object fails alone: requests before it and behind it are answered", () =>
	withFixture(async ({ repo, gitDir, commit }) => {
		const oid = await commit("x", { f: "content", g: "x".repeat(5000) });
		const damaged = (await repo.find(oid, "g"))?.oid ?? "";
		const path = loosePath(join(gitDir, "objects"), damaged);
		const bytes = readFileSync(path);
		chmodSync(path, 0o644);
		writeFileSync(path, bytes.subarray(0, bytes.length - 12));
		const other = openRepo(gitDir);
		const whole = (await repo.find(oid, "f"))?.oid ?? "";
		const seen: string[] = [];
		const see = (body: Buffer, at: number): void => void seen.push(`${at} ${body.length}`);
		const stop = (): void => {
			throw new Error("enough");
		};
		const [first, bad, good, many, stopped] = await Promise.allSettled([
			other.eachBlob([whole, whole], see),
			other.blob(damaged),
			other.read(oid),
			other.eachBlob([whole, damaged, whole], see),
			other.eachBlob([whole, whole], stop),
		]);
		expect([first.status, ...seen.slice(0, 2)]).toEqual(["fulfilled", "0 7", "1 7"]);
		expect(seen.slice(2)).toEqual(["0 7"]);
		expect(stopped).toMatchObject({ status: "rejected", reason: { message: "enough" } });
		expect(bad).toMatchObject({ status: "rejected", reason: { code: expect.stringMatching(/^GIT/) } });
		expect(good).toMatchObject({ status: "fulfilled", value: { type: "commit" } });
		expect(many).toMatchObject({ status: "rejected" });
		await other.close();
	}));

test("a tree with a name that git refuses, or twice the same one, is refused", () =>
	withFixture(async ({ repo }) => {
		const batch = repo.batch();
		const oid = batch.blob("x");
		const entry = (name: string) => ({ mode: "100644", name: Buffer.from(name), oid }) as const;
		for (const name of ["", ".", "..", "a/b", "a\0", ".git", ".GIT", "git~1"]) {
			expect(() => batch.tree([entry(name)])).toThrow(expect.objectContaining({ code: "GIT" }));
		}
		expect(() => batch.tree([entry("a"), { ...entry("a"), mode: "40000" }])).toThrow(/two entries/);
		expect(() => batch.tree([entry("a"), entry("a.b"), { ...entry("a"), mode: "40000" }])).toThrow(/two entries/);
		expect(() => batch.commit({ tree: oid, parents: [], message: "a\0b", at: new Date() })).toThrow(/NUL/);
		expect(() => batch.commit({ tree: oid, parents: [], message: "", at: new Date(Number.NaN) })).toThrow(/1970/);
	}));

test("a large file is streamed to the same object git makes of it", () =>
	withFixture(async ({ repo, root, git, gitDir }) => {
		const path = join(root, "large");
		const size = 40 * 1024 * 1024 + 7;
		writeFileSync(path, Buffer.alloc(size, "lernie "));
		const batch = repo.batch();
		const oid = await batch.blobFile(Buffer.from(path), size);
		const { objects } = await batch.flush();
		expect(objects).toBe(1);
		expect(git("hash-object", "--no-filters", path).trim()).toBe(oid);
		expect(git("cat-file", "-s", oid).trim()).toBe(String(size));
		await expect(batch.blobFile(Buffer.from(path), size - 1)).rejects.toMatchObject({ data: { errno: "CHANGED" } });
		expect(readdirSync(join(gitDir, "objects")).filter((name) => name.startsWith("tmp_obj"))).toEqual([]);
	}));

test("a batch that could not be written can be flushed again", () =>
	withFixture(async ({ repo, gitDir }) => {
		const batch = repo.batch();
		const oid = batch.blob("later");
		const blocked = join(gitDir, "objects", oid.slice(0, 2));
		writeFileSync(blocked, "a file where a directory belongs");
		await expect(batch.flush()).rejects.toMatchObject({ code: "DISK" });
		unlinkSync(blocked);
		expect((await batch.flush()).objects).toBe(1);
		expect(existsSync(loosePath(join(gitDir, "objects"), oid))).toBe(true);
	}));

test(
	"a process killed in the middle of a flush leaves nothing that fsck objects to",
	() =>
		withFixture(async ({ gitDir, git }) => {
			const script = `
			import { openRepo } from ${JSON.stringify(join(import.meta.dirname, "repo.ts"))};
			const batch = openRepo(${JSON.stringify(gitDir)}).batch();
			for (let n = 0; n < 200; n += 1) {
				const entry = { mode: "100644", name: Buffer.from("f"), oid: batch.blob("body " + n) };
				const inner = batch.tree([entry]);
				const tree = batch.tree([{ mode: "40000", name: Buffer.from("d"), oid: inner }]);
				batch.commit({ tree, parents: [], message: "m", at: new Date(0) });
			}
			setInterval(() => undefined, 1000);
			console.log("flush");
			batch.flush().then(() => console.log("done"));
		`;
			for (const delay of [5, 20, 35, 50]) {
				const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
					stdio: ["ignore", "pipe", "ignore"],
				});
				const ended = new Promise((resolve) => child.once("close", resolve));
				await new Promise((resolve) => child.stdout.once("data", resolve));
				setTimeout(() => child.kill("SIGKILL"), delay);
				await ended;
				expect(git("fsck", "--strict", "--no-dangling")).toBe("");
			}
		}),
	30_000,
);
