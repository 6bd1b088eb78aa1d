import { realpath, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { errnoOf, messageOf, strictUtf8 } from "@lernie/contract";
import { readStrings } from "./input.ts";
import { type Builtin, failure, success } from "./types.ts";

/** The directory with every link and `..` resolved, or why there is none. */
const canonical = async (path: string): Promise<{ readonly path: Buffer } | { readonly why: string }> => {
	try {
		const real = await realpath(path, { encoding: "buffer" });
		return (await stat(real)).isDirectory() ? { path: real } : { why: "not a directory" };
	} catch (thrown) {
		const errno = errnoOf(thrown);
		if (errno === undefined) throw thrown;
		if (errno === "ENOENT") return { why: "no such directory" };
		return { why: errno === "ENOTDIR" ? "not a directory" : messageOf(thrown) };
	}
};

/** `{path}`: moves the agent to a directory for this and every later call (`spec/tools.md` §10.3). */
export const cd: Builtin = async (input, { cwd, services }) => {
	const parsed = readStrings(input, ["path"]);
	if (!parsed.ok) return failure("cd", parsed.why);
	const given = parsed.values.path;
	const found = await canonical(resolve(cwd, given));
	if ("why" in found) return failure("cd", `${given}: ${found.why}`);
	const path = strictUtf8(found.path);
	// The path is stored as text and read back trimmed: what would not come back equal is not stored.
	if (path === undefined || path.trim() !== path)
		return failure("cd", `${given}: the path is not storable: it is not UTF-8, or begins or ends with white space`);
	await services.setCwd(path);
	return success(Buffer.from(JSON.stringify({ cwd: path })));
};
