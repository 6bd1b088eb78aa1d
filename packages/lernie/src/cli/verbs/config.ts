import { CONFIG_REF_ROOT, EXIT, type ExitCode, LernieError } from "@lernie/contract";
import { checkFiles } from "../../config/author.ts";
import { effectiveConfig, isUncontrolled } from "../../config/effective.ts";
import { committedFiles } from "../../config/files.ts";
import { loadConfig } from "../../config/load.ts";
import { checkAdapter, ROOT_ROLE } from "../../drive/found.ts";
import type { DriveContext } from "../../drive/session.ts";
import type { Oid } from "../../git/types.ts";
import { shippedTools } from "../../tools/definitions.ts";
import { printDocument } from "../output.ts";
import { inWorkspace, type World } from "../world.ts";

interface Branch {
	readonly name: string;
	readonly commit: Oid;
}

const branches = async ({ repo }: DriveContext): Promise<readonly Branch[]> =>
	(await repo.list(CONFIG_REF_ROOT)).map(({ ref, oid }) => ({ name: ref.slice(CONFIG_REF_ROOT.length), commit: oid }));

const branchOf = async (context: DriveContext, name: string): Promise<Branch> => {
	const all = await branches(context);
	const found = all.find((branch) => branch.name === name);
	if (found !== undefined) return found;
	const known = all.map((branch) => branch.name);
	throw new LernieError(
		"CONFIG",
		`config ${JSON.stringify(name)}: there is none of that name. There is: ${known.join(", ")}`,
		{ name, known },
	);
};

/** `config show [name]`: everything in effect, defaults marked. */
export const configShow = async (world: World, name: string): Promise<ExitCode> =>
	inWorkspace(world, async (context) => {
		const { commit } = await branchOf(context, name);
		const text = await effectiveConfig(context.repo, commit, context.roots);
		const bare = (await isUncontrolled(context.repo, commit))
			? "# UNCONTROLLED: no call is judged before it runs\n"
			: "";
		printDocument(
			world.output,
			{ name, commit, yaml: text },
			`# config/${name} ${commit}\n${text}# UNCONFINED: no sandbox holds a tool\n${bare}`,
		);
		return EXIT.done;
	});

/** Loads one configuration for every role of it; an error says which configuration it is in. */
const checkBranch = async (context: DriveContext, { name, commit }: Branch): Promise<void> => {
	const { repo, roots, effects, layout } = context;
	const workspace = layout.root;
	const options = { roots, env: effects.env, workspace };
	const check = async (role: string): Promise<readonly string[]> => {
		const config = await loadConfig(repo, commit, { ...options, role });
		await checkAdapter(context, config);
		return config.roles;
	};
	try {
		await checkFiles(committedFiles(repo, commit), { roots, workspace, builtinTools: [...shippedTools.keys()] });
		const roles = await check(ROOT_ROLE);
		for (const role of roles) if (role !== ROOT_ROLE) await check(role);
	} catch (thrown) {
		if (!(thrown instanceof LernieError)) throw thrown;
		throw new LernieError(thrown.code, `config/${name}: ${thrown.message}`, { ...thrown.data, name }, thrown);
	}
};

/** `config check [name]`: loads a configuration, or every one, as a drive would; the first error ends it. */
export const configCheck = async (world: World, name: string | undefined): Promise<ExitCode> =>
	inWorkspace(world, async (context) => {
		const checked = name === undefined ? await branches(context) : [await branchOf(context, name)];
		for (const branch of checked) await checkBranch(context, branch);
		const lines = checked.map((branch) => `config/${branch.name} ${branch.commit.slice(0, 12)} loads`);
		printDocument(world.output, { checked: checked.map((branch) => ({ ...branch, ok: true })) }, lines.join("\n"));
		return EXIT.done;
	});
