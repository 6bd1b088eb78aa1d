import { LernieError } from "@lernie/contract";
import type { Repo } from "../git/repo.ts";
import type { Oid } from "../git/types.ts";

export type RecordReader = Pick<Repo, "find" | "blob" | "tree">;

/** The files of one configuration, committed or about to be. */
export interface ConfigFiles {
	/** How errors name a file of it: `<sha12>:workflow.yaml`. */
	label(path: string): string;
	read(path: string): Promise<Buffer | undefined>;
	/** Names of the files directly in a directory, sorted; none where there is no such directory. */
	list(directory: string): Promise<readonly string[]>;
}

/** Reads a commit and never a directory: nothing an agent can write to has a say in its configuration (`spec/core.md` §6). */
export const committedFiles = (repo: RecordReader, commit: Oid): ConfigFiles => {
	const label = (path: string): string => `${commit.slice(0, 12)}:${path}`;
	return {
		label,
		async read(path) {
			const entry = await repo.find(commit, path);
			if (entry === undefined) return undefined;
			if (entry.mode === "100644" || entry.mode === "100755") return repo.blob(entry.oid);
			throw new LernieError("CONFIG", `${label(path)}: not a plain file`, { file: label(path) });
		},
		async list(directory) {
			const entry = await repo.find(commit, directory);
			if (entry?.mode !== "40000") return [];
			const entries = await repo.tree(entry.oid);
			return entries.flatMap(({ mode, name }) => (mode === "40000" ? [] : [name.toString("utf8")])).sort();
		},
	};
};

/** A configuration that is not committed yet, by path. */
export const plannedFiles = (files: ReadonlyMap<string, Buffer>): ConfigFiles => ({
	label: (path) => path,
	read: async (path) => files.get(path),
	list: async (directory) =>
		[...files.keys()]
			.flatMap((path) => {
				const name = path.startsWith(`${directory}/`) ? path.slice(directory.length + 1) : "/";
				return name.includes("/") ? [] : [name];
			})
			.sort(),
});

/** A file that has no shipped default. Throws `CONFIG`. */
export const required = async (files: ConfigFiles, path: string): Promise<Buffer> => {
	const bytes = await files.read(path);
	if (bytes !== undefined) return bytes;
	throw new LernieError("CONFIG", `${files.label(path)}: missing; a configuration needs this file`, {
		file: files.label(path),
	});
};
