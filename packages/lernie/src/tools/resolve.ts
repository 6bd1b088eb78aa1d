import { accessSync, constants, statSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { delimiter, isAbsolute, join } from "node:path";
import { TOOL_PREFIX } from "@lernie/contract";
import type { Environment } from "../process/environment.ts";
import { fileDigest } from "../process/file-digest.ts";
import { BUILTINS } from "./builtin/pool.ts";
import type { HostTools } from "./host.ts";
import { MULTI_TOOL } from "./multi-tool.ts";

/**
 * What answers to a tool's name. `program` is what the control is told: the real path of a file, `builtin:<name>`, `host`
 * or `unknown`; `sha256` is the file's, absent where there is no file or it cannot be read. `path` is what will be started.
 */
export interface ResolvedTool {
	readonly kind: "host" | "builtin" | "external" | "unknown";
	readonly name: string;
	readonly program: string;
	readonly path: string | undefined;
	readonly sha256: string | undefined;
}

export interface ResolveOptions {
	/** The operator's data root; its `tools/` holds executables `lernie-tool-<name>`. */
	readonly dataRoot: string;
	readonly env: Environment;
	readonly host?: HostTools;
}

const SHELL = "bash";

/** A name that cannot be part of a file name is nobody's; neither is one that climbs. */
const UNUSABLE = /^$|^\.{1,2}$|[/\\\0]/;

const isFile = (path: string): boolean => {
	try {
		return statSync(path).isFile();
	} catch {
		// Whatever hides it (missing, forbidden, too long a name, a loop of links): it is not a file we can run.
		return false;
	}
};

const isExecutable = (path: string): boolean => {
	try {
		accessSync(path, constants.X_OK);
		return true;
	} catch {
		return false;
	}
};

/** Absolute entries only: a relative one would let the agent's directory supply programs. */
const onPath = (file: string, env: Environment, accept: (path: string) => boolean): string | undefined =>
	(env.PATH ?? "")
		.split(delimiter)
		.filter((entry) => isAbsolute(entry))
		.map((entry) => join(entry, file))
		.find(accept);

const withFile = async (kind: "builtin" | "external", name: string, path: string): Promise<ResolvedTool> => {
	const [program, sha256] = await Promise.all([
		realpath(path).catch(() => path),
		fileDigest(path).catch(() => undefined),
	]);
	return { kind, name, path, program, sha256 };
};

const withoutFile = (kind: "host" | "builtin" | "unknown", name: string, program: string): ResolvedTool => ({
	kind,
	name,
	program,
	path: undefined,
	sha256: undefined,
});

/**
 * Finds the tool of a name (`spec/tools.md` §7.2, DESIGN D22). The execute bit is not tested: a file that was put there is
 * chosen and then fails to start, rather than another one being run in its place. Never rejects for a name.
 */
export const resolveTool = async (name: string, { dataRoot, env, host }: ResolveOptions): Promise<ResolvedTool> => {
	// The drive answers this one itself, so that no file and no host can stand in for it.
	if (name === MULTI_TOOL) return withoutFile("builtin", name, `builtin:${name}`);
	if (host?.definitions().some((tool) => tool.name === name)) return withoutFile("host", name, "host");
	if (UNUSABLE.test(name)) return withoutFile("unknown", name, "unknown");
	const file = `${TOOL_PREFIX}${name}`;
	const own = join(dataRoot, "tools", file);
	if (isFile(own)) return withFile("external", name, own);
	if (BUILTINS.has(name)) {
		const shell = name === SHELL ? onPath(SHELL, env, (path) => isFile(path) && isExecutable(path)) : undefined;
		return shell === undefined ? withoutFile("builtin", name, `builtin:${name}`) : withFile("builtin", name, shell);
	}
	const found = onPath(file, env, isFile);
	return found === undefined ? withoutFile("unknown", name, "unknown") : withFile("external", name, found);
};

/** Why the file of a resolved tool is no longer the one that was judged; undefined where it is (D22). */
export const changedSince = async (tool: ResolvedTool): Promise<string | undefined> => {
	if (tool.path === undefined) return undefined;
	const now = await withFile("external", tool.name, tool.path);
	if (now.sha256 === undefined) return `${tool.path} cannot be read`;
	const same = now.sha256 === tool.sha256 && now.program === tool.program;
	return same ? undefined : `${tool.path} changed after it was judged`;
};
