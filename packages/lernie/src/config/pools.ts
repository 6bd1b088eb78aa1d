import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, LernieError, messageOf } from "@lernie/contract";
import type { Roots } from "../workspace/roots.ts";
import { readSkillHead, readToolSchema, SKILL_HEADS, TOOL_SCHEMAS } from "./describe.ts";

const FENCE = /^---\r?$/;

const read = async <T>(path: string, act: () => Promise<T>): Promise<T | undefined> => {
	try {
		return await act();
	} catch (thrown) {
		const errno = errnoOf(thrown);
		if (errno === "ENOENT" || errno === "ENOTDIR") return undefined;
		throw new LernieError("CONFIG", `${path}: cannot be read: ${messageOf(thrown)}`, { file: path }, thrown);
	}
};

const namesIn = async (directory: string): Promise<readonly string[]> =>
	((await read(directory, () => readdir(directory))) ?? []).sort();

/**
 * What stands between the two `---` lines that a `SKILL.md` begins with, or undefined where it does not
 * (`spec/tools.md` §3.1). A `---` inside a line closes nothing.
 */
export const frontMatter = (text: string): string | undefined => {
	const lines = text.split("\n");
	if (!FENCE.test(lines[0] ?? "")) return undefined;
	const end = lines.findIndex((line, index) => index > 0 && FENCE.test(line));
	return end === -1
		? undefined
		: lines
				.slice(1, end)
				.map((line) => `${line}\n`)
				.join("");
};

const toolSchemas = async (directory: string): Promise<[string, Buffer][]> => {
	const found: [string, Buffer][] = [];
	for (const name of await namesIn(directory)) {
		if (!name.endsWith(".json")) continue;
		const path = join(directory, name);
		const bytes = await read(path, () => readFile(path));
		if (bytes === undefined) continue;
		readToolSchema(path, bytes);
		found.push([`${TOOL_SCHEMAS}/${name}`, bytes]);
	}
	return found;
};

const skillHeads = async (directory: string): Promise<[string, Buffer][]> => {
	const found: [string, Buffer][] = [];
	for (const name of await namesIn(directory)) {
		const place = join(directory, name);
		if ((await read(place, () => stat(place)))?.isDirectory() !== true) continue;
		const path = join(place, "SKILL.md");
		const bytes = await read(path, () => readFile(path));
		if (bytes === undefined) continue;
		const head = frontMatter(bytes.toString("utf8"));
		if (head === undefined)
			throw new LernieError("CONFIG", `${path}: must begin with its name and description between two lines \`---\``, {
				file: path,
			});
		readSkillHead(path, Buffer.from(head));
		found.push([`${SKILL_HEADS}/${name}.md`, Buffer.from(head)]);
	}
	return found;
};

/**
 * The descriptions of the operator's own tools and skills, as a configuration keeps them (`spec/tools.md` §3.2): a
 * snapshot, so that later edits do not reach agents that exist. Throws `CONFIG` naming a malformed file of the pool.
 */
export const snapshotPools = async (roots: Roots): Promise<ReadonlyMap<string, Buffer>> =>
	new Map([...(await toolSchemas(join(roots.data, "tools"))), ...(await skillHeads(join(roots.data, "skills")))]);
