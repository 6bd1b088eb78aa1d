import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { agentRef, ENV, EXIT, type ExitCode, LernieError } from "@lernie/contract";
import { logOneline } from "../../git/log.ts";
import { childEnvironment } from "../../process/environment.ts";
import { layoutOf } from "../../workspace/layout.ts";
import { createShell, processesOf, type Shell } from "../demo/shell.ts";
import { CRASH, GOAL, PROJECT, SCRIPT } from "../demo/story.ts";
import type { World } from "../world.ts";

const expectCode = (what: string, code: number | undefined, wanted: number | undefined): void => {
	if (code !== wanted)
		throw new LernieError(
			"INTERNAL",
			`the demo went wrong: ${what} ended with ${code ?? "a signal"}, not ${wanted ?? "a signal"}`,
		);
};

const makeProject = async (shell: Shell, directory: string): Promise<void> => {
	mkdirSync(directory);
	for (const [name, body] of Object.entries(PROJECT)) writeFileSync(join(directory, name), body);
	const commit = [
		"-c",
		"user.name=demo",
		"-c",
		"user.email=demo@localhost",
		"commit",
		"-q",
		"-m",
		"A sum that subtracts",
	];
	for (const args of [["init", "-q"], ["add", "."], commit])
		expectCode(`git ${args[0]}`, (await shell.run("git", args, directory)).code, EXIT.done);
};

interface Held {
	readonly agent: string;
	readonly digest: string;
}

const story = async (shell: Shell, root: string): Promise<{ agent: string; log: string }> => {
	const [workspace, project] = [join(root, "workspace"), join(root, "sum")];
	await makeProject(shell, project);

	shell.note("A workspace: one git repository that holds the whole state of its agents.");
	expectCode("new", (await shell.lernie(["new", workspace])).code, EXIT.done);

	shell.note("An agent on a project whose test fails. Reading passes, reaching for the record is refused.");
	shell.note(`This driver is killed with SIGKILL in the middle (${ENV.crashAt}=${CRASH}).`);
	const run = ["-w", workspace, "run", "--name", "mender", "--cwd", project, GOAL];
	expectCode("the killed run", (await shell.lernie(run, { [ENV.crashAt]: CRASH })).code, undefined);
	shell.show("(killed)\n");

	shell.note("Drive it again: nothing is lost, nothing is run twice, and the model is told what is not known.");
	expectCode("advance", (await shell.lernie(["-w", workspace, "advance", "mender"])).code, EXIT.held);

	shell.note("It is HELD: the call waits on disk for an answer, today or next week.");
	await shell.lernie(["-w", workspace, "held"]);
	const [held] = JSON.parse((await shell.quietly(["-w", workspace, "--json", "held"])).stdout) as Held[];
	if (held === undefined) throw new LernieError("INTERNAL", "the demo went wrong: nothing is held");
	shell.note(`Meanwhile it costs nothing: ${processesOf(workspace)} processes.`);

	shell.note("The operator answers, and a new process goes on.");
	const approval = join(layoutOf(workspace).approved, held.digest);
	writeFileSync(approval, "");
	shell.show(`$ touch ${approval}\n`);
	expectCode("advance", (await shell.lernie(["-w", workspace, "advance", "mender"])).code, EXIT.done);
	await shell.lernie(["-w", workspace, "log", "mender"]);

	shell.note("Every step is a commit:");
	const log = await logOneline(layoutOf(workspace).repo, agentRef(held.agent));
	if (!readFileSync(join(project, "sum.mjs"), "utf8").includes("a + b"))
		throw new LernieError("INTERNAL", "the demo went wrong: the bug is still there");
	return { agent: held.agent, log };
};

const demoEnvironment = (world: World, root: string): Record<string, string> => ({
	...childEnvironment(world.effects.env, {
		names: [],
		values: { [ENV.home]: join(root, "home"), [ENV.script]: join(root, "script.yaml") },
	}),
});

/** `demo`: the main job on the embedded scripted model, in a temporary directory that it removes (CONTRACTS §10). */
export const demo = async (world: World, flags: { readonly keep?: boolean }): Promise<ExitCode> => {
	const { output } = world;
	const root = mkdtempSync(join(tmpdir(), "lernie-demo-"));
	try {
		writeFileSync(join(root, "script.yaml"), SCRIPT);
		const shell = createShell(output, world.effects.self, demoEnvironment(world, root), root);
		const { agent, log } = await story(shell, root);
		if (output.json)
			output.product(
				`${JSON.stringify({ agent, log: log.trimEnd().split("\n"), kept: flags.keep === true ? root : null })}\n`,
			);
		else output.product(`$ git log --oneline ${agentRef(agent)}\n${log}`);
		if (flags.keep === true) output.say(`kept in ${root}`);
		return EXIT.done;
	} finally {
		if (flags.keep !== true) rmSync(root, { recursive: true, force: true });
	}
};
