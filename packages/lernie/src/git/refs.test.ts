import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withFixture } from "./fixture.ts";
import { removeStaleLocks } from "./locks.ts";
import { initRepo } from "./repo.ts";
import { isLostRace } from "./update-ref.ts";

const A = "refs/heads/agents/a";
const B = "refs/heads/agents/b";
const MARK = "refs/lernie/held/a";

test("a failed compare is ok: false, and the next transaction works", () =>
	withFixture(async ({ repo, commit }) => {
		const [one, two] = [await commit("one"), await commit("two")];
		expect(await repo.transact([{ kind: "create", ref: A, oid: one }])).toEqual({ ok: true });
		for (const op of [
			{ kind: "create", ref: A, oid: two },
			{ kind: "update", ref: A, oid: two, old: two },
			{ kind: "update", ref: A, oid: two, old: undefined },
			{ kind: "update", ref: B, oid: two, old: one },
			{ kind: "delete", ref: A, old: two },
			{ kind: "verify", ref: A, old: two },
			{ kind: "verify", ref: A, old: undefined },
			{ kind: "verify", ref: B, old: one },
			{ kind: "create", ref: `${A}/below`, oid: one },
		] as const) {
			expect(await repo.transact([op])).toEqual({ ok: false, detail: expect.stringContaining("cannot lock ref") });
			expect(await repo.resolve(A)).toBe(one);
		}
		expect(await repo.transact([{ kind: "update", ref: A, oid: two, old: one }])).toEqual({ ok: true });
		expect(await repo.transact([{ kind: "set", ref: A, oid: one }])).toEqual({ ok: true });
		expect(await repo.transact([{ kind: "set", ref: B, oid: one }])).toEqual({ ok: true });
		expect(await repo.transact([{ kind: "delete", ref: A, old: one }])).toEqual({ ok: true });
		expect(await repo.resolve(A)).toBeUndefined();
	}));

test("a transaction moves all of its refs or none", () =>
	withFixture(async ({ repo, commit }) => {
		const [one, two] = [await commit("one"), await commit("two")];
		await repo.transact([
			{ kind: "create", ref: A, oid: one },
			{ kind: "create", ref: MARK, oid: one },
		]);
		const lost = await repo.transact([
			{ kind: "update", ref: A, oid: two, old: one },
			{ kind: "delete", ref: MARK, old: one },
			{ kind: "verify", ref: B, old: one },
		]);
		expect(lost.ok).toBe(false);
		expect([await repo.resolve(A), await repo.resolve(MARK)]).toEqual([one, one]);
		const won = await repo.transact([
			{ kind: "update", ref: A, oid: two, old: one },
			{ kind: "delete", ref: MARK, old: one },
			{ kind: "verify", ref: B, old: undefined },
		]);
		expect(won).toEqual({ ok: true });
		expect([await repo.resolve(A), await repo.resolve(MARK)]).toEqual([two, undefined]);
	}));

test("of many concurrent updates from one value exactly one wins", () =>
	withFixture(async ({ repo, commit }) => {
		const base = await commit("base");
		const tips = await Promise.all([1, 2, 3, 4, 5].map((n) => commit(`tip ${n}`)));
		await repo.transact([{ kind: "create", ref: A, oid: base }]);
		const results = await Promise.all(tips.map((oid) => repo.transact([{ kind: "update", ref: A, oid, old: base }])));
		expect(results.filter(({ ok }) => ok)).toHaveLength(1);
	}));

test("a move to an object that is not there, a malformed ref and a ref named twice are faults", () =>
	withFixture(async ({ repo, commit }) => {
		const one = await commit("one");
		const absent = "1".repeat(40);
		const refused = { code: "GIT" };
		await expect(repo.transact([{ kind: "create", ref: A, oid: absent }])).rejects.toMatchObject(refused);
		for (const ref of ["refs/heads/a b", "refs/heads/a\nb", "HEAD", "refs/heads/../x", "refs/x.lock", "refs/a/"]) {
			await expect(repo.transact([{ kind: "create", ref, oid: one }])).rejects.toMatchObject(refused);
			await expect(repo.resolve(ref)).rejects.toMatchObject(refused);
		}
		await expect(repo.transact([{ kind: "create", ref: A, oid: "HEAD" }])).rejects.toMatchObject(refused);
		const twice = { kind: "create", ref: A, oid: one } as const;
		await expect(repo.transact([twice, twice])).rejects.toMatchObject(refused);
		expect(await repo.transact([])).toEqual({ ok: true });
		expect(await repo.transact([twice])).toEqual({ ok: true });
	}));

test("a full disk or a missing permission is not a lost race", () => {
	expect(isLostRace("fatal: prepare: cannot lock ref 'refs/a': Unable to create '/r/refs/a.lock': File exists.")).toBe(
		true,
	);
	expect(
		isLostRace("fatal: prepare: cannot lock ref 'refs/a': Unable to create '/r/refs/a.lock': Permission denied"),
	).toBe(false);
	expect(isLostRace("fatal: commit: couldn't write '/r/refs/a.lock': No space left on device")).toBe(false);
	expect(
		isLostRace("fatal: prepare: cannot lock ref 'refs/a': unable to resolve reference 'refs/a': reference broken"),
	).toBe(false);
});

test("resolve and list see loose and packed refs as other writers leave them", () =>
	withFixture(async ({ repo, commit, git }) => {
		const [one, two] = [await commit("one"), await commit("two")];
		const batch = repo.batch();
		const blob = batch.blob("mark");
		await batch.flush();
		for (const [ref, oid] of [
			[A, one],
			[B, one],
			[MARK, blob],
		] as const) {
			await repo.transact([{ kind: "create", ref, oid }]);
		}
		git("pack-refs", "--all");
		expect(await repo.resolve(A)).toBe(one);
		git("update-ref", A, two);
		expect(await repo.resolve(A)).toBe(two);
		git("pack-refs", "--all");
		expect(await repo.resolve(A)).toBe(two);
		git("update-ref", "-d", A);
		expect(await repo.resolve(A)).toBeUndefined();
		expect(await repo.transact([{ kind: "create", ref: A, oid: one }])).toEqual({ ok: true });
		expect(await repo.list("refs/heads/agents/")).toEqual([
			{ ref: A, oid: one },
			{ ref: B, oid: one },
		]);
		expect(await repo.list("refs/lernie/")).toEqual([{ ref: MARK, oid: blob }]);
		expect(await repo.list("refs/heads/agents/b")).toHaveLength(1);
		expect(await repo.list("refs/heads/none/")).toEqual([]);
		// A name that ends like `git describe` is not taken for an object.
		expect(await repo.resolve(`refs/heads/x-g${one.slice(0, 8)}`)).toBeUndefined();
	}));

test("a ref whose object is gone is listed and hides no other", () =>
	withFixture(async ({ repo, commit, gitDir }) => {
		const one = await commit("one");
		await repo.transact([{ kind: "create", ref: A, oid: one }]);
		writeFileSync(join(gitDir, B), `${"1".repeat(40)}\n`);
		expect((await repo.list("refs/heads/agents/")).map(({ ref }) => ref)).toEqual([A, B]);
	}));

test("a lock that was left behind is a lost race until it is removed", () =>
	withFixture(async ({ repo, commit, gitDir }) => {
		const one = await commit("one");
		await repo.transact([{ kind: "create", ref: A, oid: one }]);
		const old = new Date(Date.now() - 60_000);
		const lock = join(gitDir, `${A}.lock`);
		const other = join(gitDir, `${B}.lock`);
		const packed = join(gitDir, "packed-refs.lock");
		for (const path of [lock, other, packed, join(gitDir, "HEAD.lock"), join(gitDir, "index.lock")]) {
			writeFileSync(path, "");
			utimesSync(path, old, old);
		}
		const move = { kind: "set", ref: A, oid: one } as const;
		expect(await repo.transact([{ ...move, oid: await commit("two") }])).toEqual({
			ok: false,
			detail: expect.stringContaining("File exists"),
		});
		expect(await removeStaleLocks(gitDir, [A, MARK])).toEqual([lock, packed]);
		expect(existsSync(other)).toBe(true);
		expect(await repo.transact([{ kind: "delete", ref: A, old: one }])).toEqual({ ok: true });
		expect(await removeStaleLocks(gitDir, [A])).toEqual([]);
	}));

test("packed-refs.lock stays while it is young or open somewhere", () =>
	withFixture(async ({ gitDir }) => {
		const packed = join(gitDir, "packed-refs.lock");
		writeFileSync(packed, "");
		expect(await removeStaleLocks(gitDir, [])).toEqual([]);
		const old = new Date(Date.now() - 60_000);
		utimesSync(packed, old, old);
		const holder = spawn("sh", ["-c", `exec 3<'${packed}'; echo open; exec sleep 60`], {
			stdio: ["ignore", "pipe", "ignore"],
		});
		await new Promise((resolve) => holder.stdout.once("data", resolve));
		expect(await removeStaleLocks(gitDir, [])).toEqual([]);
		const ended = new Promise((resolve) => holder.once("close", resolve));
		holder.kill("SIGKILL");
		await ended;
		expect(await removeStaleLocks(gitDir, [])).toEqual([packed]);
	}));

test("a young ref lock is given a second to go by itself", () =>
	withFixture(async ({ gitDir }) => {
		const lock = join(gitDir, `${A}.lock`);
		mkdirSync(join(gitDir, "refs/heads/agents"), { recursive: true });
		writeFileSync(lock, "");
		const from = Date.now();
		expect(await removeStaleLocks(gitDir, [A])).toEqual([lock]);
		expect(Date.now() - from).toBeGreaterThan(800);
	}));

test("initRepo makes a repository without hooks, keeps what is there, and git finds nothing wrong", () =>
	withFixture(async ({ gitDir, git, repo, commit }) => {
		const one = await commit("one");
		await repo.transact([{ kind: "create", ref: "refs/heads/config/default", oid: one }]);
		await initRepo(gitDir);
		expect(git("rev-parse", "HEAD").trim()).toBe(one);
		expect(git("rev-parse", "--is-bare-repository").trim()).toBe("true");
		expect(readdirSync(gitDir).sort()).toEqual(["HEAD", "config", "objects", "refs"]);
		expect(readFileSync(join(gitDir, "HEAD"), "utf8")).toBe("ref: refs/heads/config/default\n");
		expect(git("fsck", "--strict")).toBe("");
	}));
