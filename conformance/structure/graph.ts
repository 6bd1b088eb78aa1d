import type { Module } from "./modules.ts";

/** Import cycles, each as `a -> b -> a`, type imports included. One cycle is named for each way into it. */
export const cycles = (modules: readonly Module[]): string[] => {
	const byPath = new Map(modules.map((module) => [module.path, module]));
	const done = new Set<string>();
	const found: string[] = [];
	const visit = (path: string, trail: readonly string[]): void => {
		const at = trail.indexOf(path);
		if (at >= 0) {
			found.push([...trail.slice(at), path].join(" -> "));
			return;
		}
		if (done.has(path)) return;
		for (const { target } of byPath.get(path)?.imports ?? []) {
			if (target !== undefined) visit(target, [...trail, path]);
		}
		done.add(path);
	};
	for (const module of modules) visit(module.path, []);
	return found;
};

/** The specifiers of everything that is loaded when `entry` is, itself left out. */
export const loadedBy = (modules: readonly Module[], entry: string): ReadonlySet<string> => {
	const byPath = new Map(modules.map((module) => [module.path, module]));
	const seen = new Set<string>();
	const specifiers = new Set<string>();
	const visit = (path: string): void => {
		if (seen.has(path)) return;
		seen.add(path);
		for (const imported of byPath.get(path)?.imports ?? []) {
			if (imported.typeOnly) continue;
			specifiers.add(imported.specifier);
			if (imported.target !== undefined) visit(imported.target);
		}
	};
	visit(entry);
	return specifiers;
};
