import { execFileSync, spawn } from "node:child_process";
import { chmodSync, mkdirSync, symlinkSync, truncateSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withFixture } from "./fixture.ts";
import { createSnapshotCache, snapshotDirectory } from "./snapshot.ts";
import { makePipe, put, take } from "./snapshot-fixture.ts";

test(
	"what git fsck --strict refuses in .gitmodules and .gitattributes is left out and named",
	() =>
		withFixture(async (fixture) => {
			const { dir } = fixture;
			const modules = (key: string) => `[submodule "m"]\n\tpath = m\n\turl = https://example.org/m\n\t${key}\n`;
			put(dir, {
				"good/.gitmodules": modules("branch = main"),
				"broken/.gitmodules": "[submodule\n",
				"url/.gitmodules": modules("url = -u./payload"),
				"path/.GITMODULES": modules("path = -x"),
				"update/.gitmodules": modules("update = !touch x"),
				"name/gi7eba~1": '[submodule "../x"]\n\turl = y\n',
				"long/.gitattributes": `${"a".repeat(3000)} text\n`,
				"fine/.gitattributes": "* -text\n",
				"huge/.gitattributes": "# comment\n".repeat(200_000),
				"dir/.gitmodules/file": "x",
				"dir/.gitattributes/file": "x",
			});
			const cache = createSnapshotCache();
			const taken = await take(fixture, cache);
			expect(taken.paths).toEqual(["broken/.gitmodules", "fine/.gitattributes", "good/.gitmodules"]);
			expect(taken.left).toEqual({
				"dir/.gitattributes": "git refuses a directory of this name",
				"dir/.gitmodules": "git refuses a directory of this name",
				"huge/.gitattributes": "too large to be checked",
				"long/.gitattributes": "git refuses the content of .gitattributes (gitattributesLineLength)",
				"name/gi7eba~1": "git refuses the content of gi7eba~1 (gitmodulesName)",
				"path/.GITMODULES": "git refuses the content of .GITMODULES (gitmodulesPath)",
				"update/.gitmodules": "git refuses the content of .gitmodules (gitmodulesUpdate)",
				"url/.gitmodules": "git refuses the content of .gitmodules (gitmodulesUrl)",
			});
			expect((await take(fixture, cache)).left).toEqual(taken.left);
		}),
	30_000,
);

test("a .gitignore that is a link is not read, and one that is a pipe does not stop the snapshot", () =>
	withFixture(async (fixture) => {
		const { dir } = fixture;
		put(dir, { ".gitignore": "*.log\n", "pipe/a.log": "x", "pipe/sub/b.log": "x", "link/c.log": "x", "link/d": "x" });
		makePipe(join(dir, "pipe", ".gitignore"));
		put(fixture.root, { everything: "*\n" });
		symlinkSync("../../everything", join(dir, "link", ".gitignore"));
		const taken = await take(fixture);
		expect(taken.paths).toEqual([".gitignore", "link/.gitignore", "link/d", "pipe/a.log", "pipe/sub/b.log"]);
		expect(taken.left).toEqual({ "pipe/.gitignore": "a named pipe" });
	}));

test("sockets, pipes and too large files are named and the rest is recorded", () =>
	withFixture(async (fixture) => {
		const { dir } = fixture;
		put(dir, { file: "x", "sub/file": "x", large: "" });
		truncateSync(join(dir, "large"), 100 * 1024 * 1024 + 1);
		makePipe(join(dir, "sub", "pipe"));
		const server = createServer();
		await new Promise<void>((resolve) => server.listen(join(dir, "sock"), resolve));
		const taken = await take(fixture);
		server.close();
		expect(taken.paths).toEqual(["file", "sub/file"]);
		expect(taken.left).toEqual({ large: "larger than 100 MiB", sock: "a socket", "sub/pipe": "a named pipe" });
	}));

/** For root nothing is unreadable: then the test is done as somebody else, who gets the fixture. */
const asNobody = async (root: string, act: () => Promise<void>): Promise<void> => {
	if (process.getuid?.() !== 0 || process.seteuid === undefined) return act();
	execFileSync("chown", ["-R", "65534", root]);
	process.seteuid(65534);
	try {
		await act();
	} finally {
		process.seteuid(0);
	}
};

test("unreadable files and directories are named", () =>
	withFixture(async (fixture) => {
		const { dir, root } = fixture;
		put(dir, { file: "x", secret: "x", "closed/file": "x" });
		chmodSync(join(dir, "secret"), 0);
		chmodSync(join(dir, "closed"), 0);
		await asNobody(root, async () => {
			const taken = await take(fixture);
			chmodSync(join(dir, "closed"), 0o700);
			expect(taken.paths).toEqual(["file"]);
			expect(taken.left).toEqual({ closed: "cannot be read (EACCES)", secret: "cannot be read (EACCES)" });
		});
	}));

test(
	"a file that keeps changing is recorded whole or named, never torn",
	() =>
		withFixture(async (fixture) => {
			const { dir, repo } = fixture;
			put(dir, { other: "x", busy: "a".repeat(3_000_000) });
			const script = `f='${join(dir, "busy")}'; while :; do for c in a b; do head -c 3000000 /dev/zero | tr '\\0' $c > "$f"; done; done`;
			const writer = spawn("sh", ["-c", script], { stdio: "ignore", detached: true });
			try {
				for (let round = 0; round < 5; round += 1) {
					const taken = await take(fixture);
					expect(taken.paths).toContain("other");
					const entry = await repo.find(taken.commit, "busy");
					if (entry === undefined) expect(taken.left.busy).toMatch(/changed|vanished/);
					else expect(new Set(await repo.blob(entry.oid)).size).toBeLessThanOrEqual(1);
				}
			} finally {
				const ended = new Promise((resolve) => writer.once("close", resolve));
				if (writer.pid !== undefined) process.kill(-writer.pid, "SIGKILL");
				await ended;
			}
		}),
	30_000,
);

test("a link in place of the directory, or no directory, is NO_AGENT_DIRECTORY", () =>
	withFixture(async (fixture) => {
		const { dir, root, gitDir, repo } = fixture;
		const options = { reserved: [], batch: repo.batch(), cache: createSnapshotCache(), gitDir };
		const refused = { code: "NO_AGENT_DIRECTORY" };
		await expect(snapshotDirectory({ ...options, dir })).rejects.toMatchObject(refused);
		symlinkSync(root, dir);
		await expect(snapshotDirectory({ ...options, dir })).rejects.toMatchObject(refused);
	}));

test(
	"deep nesting is recorded up to a bound and named beyond it",
	() =>
		withFixture(async (fixture) => {
			const { dir } = fixture;
			mkdirSync(dir);
			execFileSync(
				"sh",
				["-c", "mkdir -p $(printf 'd/%.0s' $(seq 600)) && echo x > $(printf 'd/%.0s' $(seq 600))f && echo x > d/d/g"],
				{
					cwd: dir,
				},
			);
			put(dir, { f: "x" });
			const taken = await take(fixture);
			expect(taken.paths).toEqual(["d/d/g", "f"]);
			expect(Object.values(taken.left)).toEqual(["nested too deep"]);
			// Node takes a second for this.
			execFileSync("rm", ["-r", join(dir, "d")]);
		}),
	30_000,
);

test(
	"a directory that is swapped for a link meanwhile leads nowhere",
	() =>
		withFixture(async (fixture) => {
			const { dir, root, repo, gitDir } = fixture;
			put(root, { "outside/secret": "secret" });
			put(dir, { "d/secret": "mine", "x/f": "x" });
			symlinkSync(join(root, "outside"), join(root, "link"));
			const script = `cd '${root}'; while :; do mv agent/d held; mv -T link agent/d; mv -T agent/d link; mv held agent/d; done`;
			const swapper = spawn("sh", ["-c", script], { stdio: "ignore", detached: true });
			try {
				for (let round = 0; round < 40; round += 1) {
					const batch = repo.batch();
					const snapshot = await snapshotDirectory({ dir, reserved: [], batch, cache: createSnapshotCache(), gitDir });
					await batch.flush();
					const directory = snapshot.entries.find(
						({ name, mode }) => name.equals(Buffer.from("d")) && mode === "40000",
					);
					if (directory === undefined) continue;
					const [entry] = await repo.tree(directory.oid);
					expect((await repo.blob(entry?.oid ?? "")).toString()).toBe("mine");
				}
			} finally {
				const ended = new Promise((resolve) => swapper.once("close", resolve));
				if (swapper.pid !== undefined) process.kill(-swapper.pid, "SIGKILL");
				await ended;
			}
		}),
	30_000,
);
