import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gitEnvironment } from "./command.ts";
import { initRepo, openRepo, type Repo } from "./repo.ts";
import type { Oid } from "./types.ts";

/** A repository and an agent's directory of one test, and the real git to look at them with. */
export interface Fixture {
	readonly root: string;
	readonly gitDir: string;
	readonly dir: string;
	readonly repo: Repo;
	git(...args: string[]): string;
	/** Commits the given files of an otherwise empty tree and returns the commit, durable. */
	commit(message: string, files?: Readonly<Record<string, string>>): Promise<Oid>;
}

/** Runs a test's body with a fixture and leaves nothing behind. */
export const withFixture = async (act: (fixture: Fixture) => Promise<void>): Promise<void> => {
	const root = mkdtempSync(join(tmpdir(), "lernie-git-"));
	const gitDir = join(root, "repo.git");
	await initRepo(gitDir);
	const repo = openRepo(gitDir);
	const env = gitEnvironment(gitDir, process.env.PATH);
	const git = (...args: string[]): string =>
		execFileSync("git", args, { cwd: "/", env, encoding: "utf8", stdio: "pipe" });
	const commit = async (message: string, files: Readonly<Record<string, string>> = {}): Promise<Oid> => {
		const batch = repo.batch();
		const entries = Object.entries(files).map(
			([name, body]) => ({ mode: "100644", name: Buffer.from(name), oid: batch.blob(body) }) as const,
		);
		const oid = batch.commit({ tree: batch.tree(entries), parents: [], message, at: new Date(1000) });
		await batch.flush();
		return oid;
	};
	try {
		await act({ root, gitDir, dir: join(root, "agent"), repo, git, commit });
	} finally {
		await repo.close();
		rmSync(root, { recursive: true, force: true });
	}
};
