import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { LernieError } from "@lernie/contract";
import { initRepo, openRepo, type Repo } from "../git/repo.ts";
import type { Roots } from "../workspace/roots.ts";
import { type AuthorOptions, authorConfig } from "./author.ts";
import { SHIPPED_TOOLS } from "./shipped.ts";

/** For tests: an empty workspace with its own config and data roots. */
export interface ConfigFixture {
	readonly directory: string;
	readonly workspace: string;
	readonly roots: Roots;
	readonly repo: Repo;
	/** Writes a file under `directory`. */
	write(path: string, text: string): string;
	/** Commits a configuration; what is not given is a valid shipped one. */
	author(name: string, files?: Readonly<Record<string, string>>): Promise<string>;
	readonly authorOptions: AuthorOptions;
}

export const VALID: Readonly<Record<string, string>> = {
	"providers.yaml": "roles:\n  worker:\n    provider: scripted\n    model: demo\n    tools: [bash]\n",
	"workflow.yaml": "tool_control: none\n",
};

export const bytes = (files: Readonly<Record<string, string>>): ReadonlyMap<string, Buffer> =>
	new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]));

/** For tests: the `LernieError` that `act` ends in. */
export const faultOf = async (act: () => unknown): Promise<LernieError> => {
	try {
		await act();
	} catch (thrown) {
		if (thrown instanceof LernieError) return thrown;
		throw thrown;
	}
	throw new Error("nothing was thrown");
};

export const withConfig = async (act: (fixture: ConfigFixture) => Promise<void>): Promise<void> => {
	const directory = mkdtempSync(join(tmpdir(), "lernie-config-"));
	const workspace = join(directory, "ws");
	const roots = { config: join(directory, "config"), data: join(directory, "data") };
	for (const path of [workspace, roots.config, roots.data]) mkdirSync(path);
	const gitDir = join(workspace, "repo.git");
	await initRepo(gitDir);
	const repo = openRepo(gitDir);
	const now = (): Date => new Date("2025-01-01T00:00:00Z");
	const authorOptions: AuthorOptions = {
		effects: { now },
		roots,
		workspace,
		builtinTools: [...SHIPPED_TOOLS],
	};
	try {
		await act({
			directory,
			workspace,
			roots,
			repo,
			authorOptions,
			write(path, text) {
				const whole = join(directory, path);
				mkdirSync(dirname(whole), { recursive: true });
				writeFileSync(whole, text);
				return whole;
			},
			author: (name, files = {}) => authorConfig(repo, name, bytes({ ...VALID, ...files }), authorOptions),
		});
	} finally {
		await repo.close();
		rmSync(directory, { recursive: true, force: true });
	}
};
