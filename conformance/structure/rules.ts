import type { Import, Module } from "./modules.ts";

/** The packages each package may import, by directory name. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
	contract: [],
	lernie: ["contract"],
};

const GROUND = ["process", "git", "workspace"];
const MIDDLE = ["config", "models", "tools", "sandbox", "control"];

/** The rooms each room of `packages/lernie/src` may import besides itself. */
const ROOMS: Readonly<Record<string, readonly string[]>> = {
	process: [],
	git: ["process"],
	workspace: ["process", "git"],
	config: GROUND,
	models: [...GROUND, "config"],
	tools: [...GROUND, "config"],
	sandbox: [...GROUND, "config"],
	control: [...GROUND, "config"],
	drive: [...GROUND, ...MIDDLE],
	cli: [...GROUND, ...MIDDLE, "drive"],
};

const SPAWNING_ROOMS = ["process", "git"];
const TEST_SUPPORT = /^conformance\/(support|cases)\//;

const isTest = (module: Module): boolean => module.path.endsWith(".test.ts");
const packageOf = (path: string): string | undefined => /^packages\/([^/]+)\/src\//.exec(path)?.[1];
const roomOf = (path: string): string | undefined => /^packages\/lernie\/src\/([^/]+)\//.exec(path)?.[1];

const roomViolation = (module: Module, target: string): string | undefined => {
	const from = roomOf(module.path);
	const to = roomOf(target);
	if (from === undefined || to === undefined || from === to) return undefined;
	if (ROOMS[from]?.includes(to)) return undefined;
	return `${module.path} imports ${target}: the room ${from} may import ${ROOMS[from]?.join(", ") || "no other room"}`;
};

const packageViolation = (module: Module, imported: Import): string | undefined => {
	const from = packageOf(module.path) ?? "";
	if (imported.target !== undefined) {
		if (isTest(module) && TEST_SUPPORT.test(imported.target)) return undefined;
		if (packageOf(imported.target) === from) return undefined;
		return `${module.path} imports ${imported.target}: a relative import stays inside the package's src`;
	}
	const to = /^(?:@lernie\/)?(contract|lernie|yog|seat|fleet)(?:\/|$)/.exec(imported.specifier)?.[1];
	if (to === undefined || PACKAGES[from]?.includes(to)) return undefined;
	return `${module.path} imports ${imported.specifier}: ${from} may import ${PACKAGES[from]?.join(", ") || "no package of ours"}`;
};

const spawnViolation = (module: Module, imported: Import): string | undefined => {
	if (!/^(node:)?child_process$/.test(imported.specifier) || isTest(module)) return undefined;
	const room = roomOf(module.path);
	if (room !== undefined && SPAWNING_ROOMS.includes(room)) return undefined;
	return `${module.path} imports ${imported.specifier}: only the rooms ${SPAWNING_ROOMS.join(", ")} start processes`;
};

/** Imports that go against the order of packages and rooms, and modules that lie outside it. */
export const orderViolations = (modules: readonly Module[], entries: readonly string[]): string[] =>
	modules.flatMap((module) => {
		const found: (string | undefined)[] = [];
		const name = packageOf(module.path) ?? "";
		if (PACKAGES[name] === undefined) found.push(`${module.path}: the package ${name} is not in the import order`);
		if (name === "lernie" && !entries.includes(module.path)) {
			const room = roomOf(module.path);
			if (room === undefined) found.push(`${module.path}: lies in no room and is no entry of the package`);
			else if (ROOMS[room] === undefined) found.push(`${module.path}: the room ${room} is not in the import order`);
		}
		for (const imported of module.imports) {
			found.push(packageViolation(module, imported));
			if (imported.target !== undefined) found.push(roomViolation(module, imported.target));
		}
		return found.filter((violation) => violation !== undefined);
	});

/** Imports of `node:child_process` outside the rooms that start processes. */
export const spawnViolations = (modules: readonly Module[]): string[] =>
	modules.flatMap((module) =>
		module.imports.map((imported) => spawnViolation(module, imported)).filter((violation) => violation !== undefined),
	);

/** Modules that only hand on others, but for the entries of the packages. */
export const barrels = (modules: readonly Module[], entries: readonly string[]): string[] =>
	modules
		.filter((module) => (module.barrel || module.path.endsWith("/index.ts")) && !entries.includes(module.path))
		.map((module) => `${module.path}: a barrel: import the modules themselves`);
