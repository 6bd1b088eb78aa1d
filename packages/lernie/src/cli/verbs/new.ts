import { existsSync, readdirSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { ENV, EXIT, type ExitCode, LernieError } from "@lernie/contract";
import { authorConfig, checkConfig } from "../../config/author.ts";
import { hasRow, readModelRows, rowNames } from "../../config/models-file.ts";
import { type Template, templateFiles } from "../../config/template.ts";
import { initRepo, openRepo } from "../../git/repo.ts";
import { shippedTools } from "../../tools/definitions.ts";
import { makeDirectory } from "../../workspace/durable.ts";
import { layoutOf } from "../../workspace/layout.ts";
import type { Roots } from "../../workspace/roots.ts";
import { checkControlFile } from "../control-file.ts";
import { modelFlag } from "../model-flag.ts";
import { printDocument } from "../output.ts";
import type { World } from "../world.ts";

export interface NewFlags {
	readonly model?: string;
	readonly control?: string;
}

const SCRIPTED = { provider: "scripted", model: "scripted" } as const;

const checkRow = async (row: string, roots: Roots): Promise<void> => {
	const found = await readModelRows(roots);
	if (hasRow(found, row)) return;
	const rows = rowNames(found);
	throw new LernieError(
		"PROVIDER_UNKNOWN",
		`--model: there is no model row ${JSON.stringify(row)}. There are ${rows.join(", ")}`,
		{ row, rows },
	);
};

const checkDestination = (path: string): void => {
	const stat = statSync(path, { throwIfNoEntry: false });
	if (stat === undefined) return;
	if (!stat.isDirectory())
		throw new LernieError("REFUSED", `${path}: not a directory. Give a new or an empty one`, { path });
	if (readdirSync(path).length > 0)
		throw new LernieError("REFUSED", `${path}: not empty. Give a new or an empty directory`, { path });
};

/** What the flags and the operator's template choose, with what stands in for a choice nobody made. */
const chooseFiles = async (world: World, flags: NewFlags): Promise<Template["files"]> => {
	const { roots, effects } = world;
	const control =
		flags.control === undefined || flags.control === "none" ? flags.control : resolve(world.cwd, flags.control);
	if (control !== undefined && control !== "none") checkControlFile(control, `--control ${control}`);
	const model = flags.model === undefined ? undefined : modelFlag(flags.model);
	if (model !== undefined) await checkRow(model.provider, roots);
	const given = {
		roots,
		...(model === undefined ? {} : { model }),
		...(control === undefined ? {} : { control }),
	};
	const { missing } = await templateFiles(given);
	const script = effects.env[ENV.script];
	const scripted = script !== undefined && script !== "";
	if (missing.includes("provider") && !scripted) {
		const choices = `--model <row>/<model>, a providers.yaml in ${join(roots.config, "template")}, or ${ENV.script}=<file> for the scripted model`;
		throw new LernieError("REFUSED", `no model is chosen. Choose one: ${choices}`, { missing });
	}
	const { files } = await templateFiles({
		...given,
		...(missing.includes("provider") ? { model: SCRIPTED } : {}),
		...(missing.includes("control") ? { control: world.shippedControl } : {}),
	});
	return files;
};

/** `new [path]`: creates a workspace with its first configuration; a refusal leaves nothing behind (`spec/core.md` §4). */
export const newWorkspace = async (world: World, path: string | undefined, flags: NewFlags): Promise<ExitCode> => {
	const { effects, roots, output } = world;
	const root =
		path === undefined ? join(roots.data, "workspaces", effects.random(4).toString("hex")) : resolve(world.cwd, path);
	checkDestination(root);
	const existed = existsSync(root);
	const files = await chooseFiles(world, flags);
	const options = { effects, roots, workspace: root, builtinTools: [...shippedTools.keys()] };
	await checkConfig(files, options);
	const layout = layoutOf(root);
	makeDirectory(root);
	try {
		await initRepo(layout.repo);
		const repo = openRepo(layout.repo);
		try {
			await authorConfig(repo, "default", files, options);
		} finally {
			await repo.close();
		}
		for (const directory of [layout.agents, layout.inbox, layout.steps, layout.approved]) makeDirectory(directory);
	} catch (thrown) {
		// Nothing in it is anybody's yet: what was not finished must not look like a workspace.
		rmSync(existed ? layout.repo : root, { recursive: true, force: true });
		throw thrown;
	}
	printDocument(output, { workspace: root }, root);
	return EXIT.done;
};
