import { chmodSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { sha256Hex } from "@lernie/contract";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createWorld, type World } from "./fixtures/world.ts";
import { changedSince, resolveTool } from "./resolve.ts";

let world: World;
beforeEach(() => {
	world = createWorld();
});
afterEach(() => world.remove());

const resolve = (name: string, path = process.env.PATH ?? "") =>
	resolveTool(name, { dataRoot: world.dataRoot, env: { PATH: path } });

test("the operator's own directory comes before PATH", async () => {
	const onPath = join(world.root, "bin");
	world.tool("greet", "echo path", onPath);
	expect(await resolve("greet", onPath)).toMatchObject({ kind: "external", path: join(onPath, "lernie-tool-greet") });
	const own = world.tool("greet", "echo own");
	const digest = sha256Hex("#!/bin/sh\necho own\n");
	expect(await resolve("greet", onPath)).toEqual({
		kind: "external",
		name: "greet",
		program: own,
		path: own,
		sha256: digest,
	});
});

test("a name of the built-in pool is not looked up on PATH, only the operator replaces it", async () => {
	const onPath = join(world.root, "bin");
	world.tool("cd", "echo path", onPath);
	expect(await resolve("cd", onPath)).toMatchObject({ kind: "builtin", program: "builtin:cd", sha256: undefined });
	const own = world.tool("cd", "echo own");
	expect(await resolve("cd", onPath)).toMatchObject({ kind: "external", path: own });
});

test("bash is the real shell on PATH, and a built-in without one where there is none", async () => {
	const bash = await resolve("bash");
	expect(bash).toMatchObject({ kind: "builtin", sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
	expect(bash.program).toBe(realpathSync(bash.path ?? ""));
	const none = { kind: "builtin", program: "builtin:bash", path: undefined, sha256: undefined };
	expect(await resolve("bash", "/nowhere")).toMatchObject(none);
});

test("entries of PATH that are not absolute are passed over", async () => {
	world.tool("near", "true", join(world.root, "bin"));
	expect((await resolve("near", `bin:.::${world.root}/../bin`)).kind).toBe("unknown");
});

test("a link is followed to the program, a directory is not one, the execute bit is not asked for", async () => {
	const target = join(world.root, "real");
	writeFileSync(target, "x");
	symlinkSync(target, join(world.dataRoot, "tools/lernie-tool-link"));
	mkdirSync(join(world.dataRoot, "tools/lernie-tool-directory"));
	chmodSync(world.tool("inert", "true"), 0o644);
	expect(await resolve("link")).toMatchObject({ kind: "external", program: target, sha256: sha256Hex("x") });
	expect((await resolve("directory")).kind).toBe("unknown");
	expect((await resolve("inert")).kind).toBe("external");
});

test.each(["", ".", "..", "a/b", "a\\b", "a\0b", "constructor", "__proto__", "x".repeat(5000)])(
	"%j is an unknown name and not an error",
	async (name) => {
		expect(await resolve(name)).toMatchObject({ kind: "unknown", program: "unknown", sha256: undefined });
	},
);

test("a file that was replaced by one of equal size and time is noticed", async () => {
	const path = world.tool("swap", "echo aaaa");
	const tool = await resolve("swap");
	expect(await changedSince(tool)).toBeUndefined();
	world.tool("swap", "echo bbbb");
	expect(await changedSince(tool)).toBe(`${path} changed after it was judged`);
});
