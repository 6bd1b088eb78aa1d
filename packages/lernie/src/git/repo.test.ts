import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { gitEnvironment } from "./command.ts";
import { withFixture } from "./fixture.ts";
import { openRepo } from "./repo.ts";

/** Pids of git children of this repository that are alive. */
const childrenOf = (gitDir: string): number[] =>
	readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.filter((pid) => {
			try {
				const words = readFileSync(`/proc/${pid}/cmdline`, "latin1").split("\0");
				return words[0] === "git" && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`GIT_DIR=${gitDir}\0`);
			} catch {
				// It ended while we looked.
				return false;
			}
		})
		.map(Number);

test("an inherited GIT_DIR and git configuration in the environment have no effect", () =>
	withFixture(async ({ gitDir, commit }) => {
		const oid = await commit("one");
		const before = { ...process.env };
		Object.assign(process.env, {
			GIT_DIR: "/nonexistent",
			GIT_OBJECT_DIRECTORY: "/nonexistent",
			GIT_NAMESPACE: "other",
			GIT_CONFIG_COUNT: "1",
			GIT_CONFIG_KEY_0: "core.hooksPath",
			GIT_CONFIG_VALUE_0: "/tmp",
		});
		try {
			const repo = openRepo(gitDir);
			expect((await repo.commit(oid)).message).toBe("one");
			expect(await repo.transact([{ kind: "create", ref: "refs/heads/x", oid }])).toEqual({ ok: true });
			expect(await repo.list("refs/heads/")).toHaveLength(1);
			await repo.close();
		} finally {
			for (const key of Object.keys(process.env)) if (!(key in before)) delete process.env[key];
		}
		expect(
			Object.keys(gitEnvironment(gitDir, "/bin"))
				.filter((key) => !key.startsWith("GIT_"))
				.sort(),
		).toEqual(["HOME", "LC_ALL", "PATH"]);
	}));

test("a child that was killed is replaced at the next request", () =>
	withFixture(async ({ repo, gitDir, commit }) => {
		const [one, two] = [await commit("one", { f: "1" }), await commit("two", { f: "2" })];
		const { tree } = await repo.commit(one);
		await repo.read(tree);
		await repo.transact([{ kind: "create", ref: "refs/heads/x", oid: one }]);
		const killed = childrenOf(gitDir);
		expect(killed).toHaveLength(2);
		for (const pid of killed) process.kill(pid, "SIGKILL");
		expect((await repo.read(two)).type).toBe("commit");
		expect(await repo.transact([{ kind: "update", ref: "refs/heads/x", oid: two, old: one }])).toEqual({ ok: true });
		await repo.close();
		await repo.close();
		expect(childrenOf(gitDir)).toEqual([]);
		await expect(repo.read(one)).rejects.toMatchObject({ code: "GIT" });
		await expect(repo.transact([{ kind: "set", ref: "refs/heads/x", oid: one }])).rejects.toMatchObject({
			code: "GIT",
		});
	}));

test("an idle repository keeps no process alive and leaves no child behind", () =>
	withFixture(async ({ gitDir, commit }) => {
		const oid = await commit("one");
		const script = `
			import { openRepo } from ${JSON.stringify(join(import.meta.dirname, "repo.ts"))};
			const repo = openRepo(${JSON.stringify(gitDir)});
			await repo.read(${JSON.stringify(oid)});
			await repo.transact([{ kind: "create", ref: "refs/heads/x", oid: ${JSON.stringify(oid)} }]);
			console.log("done");
		`;
		const args = ["--input-type=module", "--disable-warning=ExperimentalWarning", "-e", script];
		const run = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 20_000 });
		expect([run.stdout, run.stderr, run.status]).toEqual(["done\n", "", 0]);
		await expect.poll(() => childrenOf(gitDir)).toEqual([]);
	}));

test("without git on PATH every verb says so", () =>
	withFixture(async ({ gitDir }) => {
		const before = process.env.PATH;
		process.env.PATH = "/nonexistent";
		try {
			const repo = openRepo(gitDir);
			const missing = { code: "GIT", message: expect.stringContaining("git could not be started") };
			await expect(repo.read("1".repeat(40))).rejects.toMatchObject(missing);
			await expect(repo.list("refs/heads/")).rejects.toMatchObject(missing);
			const op = { kind: "set", ref: "refs/heads/x", oid: "1".repeat(40) } as const;
			await expect(repo.transact([op])).rejects.toMatchObject(missing);
			await repo.close();
		} finally {
			process.env.PATH = before;
		}
	}));
