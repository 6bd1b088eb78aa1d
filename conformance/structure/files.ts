import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The repository's root, without a trailing separator. */
export const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

const SKIPPED = new Set(["node_modules", "dist", "coverage", ".git"]);

const walk = (dir: string): string[] => {
	if (!existsSync(join(ROOT, dir))) return [];
	return readdirSync(join(ROOT, dir), { withFileTypes: true }).flatMap((entry) => {
		if (SKIPPED.has(entry.name)) return [];
		const path = dir === "" ? entry.name : `${dir}/${entry.name}`;
		return entry.isDirectory() ? walk(path) : entry.isFile() ? [path] : [];
	});
};

/** Every file below `dirs`, as sorted paths relative to the root. A directory that does not exist has no files. */
export const filesBelow = (...dirs: readonly string[]): readonly string[] => dirs.flatMap(walk).sort();

/** Every file that git tracks or would add; outside a repository every file that is not built or installed. */
export const repositoryFiles = (): readonly string[] => {
	if (!existsSync(join(ROOT, ".git"))) return filesBelow("");
	const args = ["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
	const listed = execFileSync("git", args, { cwd: ROOT, encoding: "utf8", maxBuffer: 1 << 28 });
	return listed.split("\0").filter((path) => path !== "" && existsSync(join(ROOT, path)));
};

export const readText = (path: string): string => readFileSync(join(ROOT, path), "utf8");

/** The names of the packages' directories. */
export const packageNames = (): readonly string[] =>
	readdirSync(join(ROOT, "packages")).filter((name) => existsSync(join(ROOT, "packages", name, "package.json")));
