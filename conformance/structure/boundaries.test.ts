import { posix } from "node:path";
import { expect, test } from "vitest";
import { verifies } from "../support/verifies.ts";
import { packageNames, readText } from "./files.ts";
import { cycles, loadedBy } from "./graph.ts";
import { parseModule, readModules } from "./modules.ts";
import { barrels, orderViolations, spawnViolations } from "./rules.ts";

const modules = readModules();
const entries = packageNames().flatMap((name) => {
	const { exports = {} } = JSON.parse(readText(`packages/${name}/package.json`)) as {
		exports?: Record<string, string>;
	};
	return Object.values(exports).map((path) => posix.join("packages", name, path));
});

test("modules were read", () => {
	expect(modules.length).toBeGreaterThan(5);
	expect(modules.flatMap((module) => module.imports).length).toBeGreaterThan(5);
});

verifies("structure-1", "imports go one way", () => expect(orderViolations(modules, entries)).toEqual([]));
verifies("structure-1", "no module is a barrel but the entries", () => expect(barrels(modules, entries)).toEqual([]));
verifies("structure-1", "no import cycles", () => expect(cycles(modules)).toEqual([]));
verifies("structure-2", "only git and process start processes", () => expect(spawnViolations(modules)).toEqual([]));
verifies("structure-3", "the entry of contract loads no zod", () => {
	const loaded = [...loadedBy(modules, "packages/contract/src/index.ts")];
	expect(loaded.length).toBeGreaterThan(0);
	expect(loaded.filter((specifier) => /^zod\b/.test(specifier))).toEqual([]);
});

const inRoom = (room: string, text: string) => parseModule(`packages/lernie/src/${room}/a.ts`, text);

test.each([
	["workspace", 'import { x } from "../drive/b.ts";'],
	["config", 'import type { x } from "../tools/b.ts";'],
	["tools", 'const b = await import("../control/b.ts");'],
	["process", 'export { x } from "../git/b.ts";'],
	["drive", 'let x: import("../cli/b.ts").B;'],
	["nowhere", "export const x = 1;"],
	["cli", 'import { x } from "../../../contract/src/names.ts";'],
	["cli", 'import { x } from "lernie";'],
])("a module of %s with `%s` is out of order", (room, text) => {
	expect(orderViolations([inRoom(room, text)], [])).toHaveLength(1);
});

test.each([
	["tools", 'import { x } from "../config/b.ts"; import { y } from "../process/b.ts";'],
	["cli", 'import { x } from "../drive/b.ts"; import { y } from "@lernie/contract/config";'],
])("a module of %s with `%s` is in order", (room, text) => {
	expect(orderViolations([inRoom(room, text)], [])).toEqual([]);
});

test("a process started elsewhere, a barrel and a cycle of types are found", () => {
	expect(spawnViolations([inRoom("drive", 'import { spawn } from "node:child_process";')])).toHaveLength(1);
	expect(spawnViolations([inRoom("git", 'import { spawn } from "node:child_process";')])).toEqual([]);
	expect(barrels([inRoom("git", 'export * from "./b.ts";')], [])).toHaveLength(1);
	const a = parseModule("packages/lernie/src/git/a.ts", 'import type { B } from "./b.ts";');
	const b = parseModule("packages/lernie/src/git/b.ts", 'import type { A } from "./a.ts";');
	expect(cycles([a, b])).toEqual([
		"packages/lernie/src/git/a.ts -> packages/lernie/src/git/b.ts -> packages/lernie/src/git/a.ts",
	]);
});
