import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import type { CrashSite } from "../../../workspace/crash.ts";
import { createWorld, inputOf, textOf } from "../../fixtures/world.ts";
import { renderPatch } from "./render-fixture.ts";

/** An agent's directory with the tool at hand; a patch is given as the lines between its first and its last. */
export interface PatchWorld {
	/** The temporary directory that all of it lies in; like `cwd` without links. */
	readonly root: string;
	/** The agent's directory, where patches start. */
	readonly cwd: string;
	/** Crash points that were passed. */
	readonly sites: readonly CrashSite[];
	/** Writes a file, `old` where nothing is said, and answers with its absolute path. */
	put(path: string, body?: string | Buffer): string;
	/** What the model reads of a patch given whole. */
	run(input: string): Promise<string>;
	/** The files of the success document. */
	filesOf(...lines: readonly string[]): Promise<unknown>;
	/** The reason of a patch that is refused; that nothing on disk changed is checked. */
	whyNot(...lines: readonly string[]): Promise<string>;
	/** The reason of a patch that fails because `spoil` did something once its n-th file was in place. */
	spoiled(n: number, spoil: () => void, ...lines: readonly string[]): Promise<string>;
	remove(): void;
}

/** A hunk that changes what `put` writes. */
export const CHANGE = ["@@", "-old", "+new"];

const REFUSED = "Exit code: 1\n--- stderr ---\nlernie tool apply_patch: ";

const reasonOf = (text: string): string => {
	expect(text.startsWith(REFUSED), text).toBe(true);
	expect(text.trimEnd().split("\n")).toHaveLength(3);
	return text.slice(REFUSED.length).trimEnd();
};

/** Everything below a directory by its path: kind, mode and content; without what lies in `except`. */
export const snapshotOf = (root: string, except?: string): Readonly<Record<string, string>> => {
	const found: Record<string, string> = {};
	const visit = (path: string): void => {
		for (const name of readdirSync(join(root, path)).sort()) {
			const here = path === "" ? name : `${path}/${name}`;
			const whole = join(root, here);
			if (whole === except) continue;
			const stat = lstatSync(whole);
			const mode = (stat.mode & 0o7777).toString(8);
			if (stat.isSymbolicLink()) found[here] = `link ${readlinkSync(whole)}`;
			else if (stat.isFile())
				found[here] = `file ${mode} ${stat.size > 1 << 20 ? stat.size : readFileSync(whole, "utf8")}`;
			else found[here] = stat.isDirectory() ? `directory ${mode}` : `special ${mode}`;
			if (stat.isDirectory()) visit(here);
		}
	};
	visit("");
	return found;
};

export const createPatchWorld = (): PatchWorld => {
	const world = createWorld();
	const { context, sites } = world;
	const [root, cwd, steps] = [realpathSync(world.root), realpathSync(context.cwd), realpathSync(context.stepDirectory)];
	let calls = 0;
	const run = async (input: string, changes: Parameters<typeof world.run>[1] = {}): Promise<string> => {
		calls += 1;
		return textOf(await world.run({ id: `t${calls}`, name: "apply_patch", input: inputOf({ input }) }, changes));
	};
	return {
		root,
		cwd,
		sites,
		put(path, body = "old\n") {
			writeFileSync(join(cwd, path), body);
			return join(cwd, path);
		},
		run: (input) => run(input),
		async filesOf(...lines) {
			const text = await run(renderPatch(lines));
			expect(text).toMatch(/^Exit code: 0\n/);
			const { status, files } = JSON.parse(text.slice(text.indexOf("\n"))) as Record<string, unknown>;
			expect(status).toBe("applied");
			return files;
		},
		async whyNot(...lines) {
			const before = snapshotOf(root, steps);
			const why = reasonOf(await run(renderPatch(lines)));
			expect(snapshotOf(root, steps)).toEqual(before);
			return why;
		},
		async spoiled(n, spoil, ...lines) {
			let written = 0;
			const crash = (site: CrashSite): void => {
				if (site !== "patch.written") return;
				written += 1;
				if (written === n) spoil();
			};
			return reasonOf(await run(renderPatch(lines), { effects: { ...context.effects, crash } }));
		},
		remove: () => world.remove(),
	};
};
