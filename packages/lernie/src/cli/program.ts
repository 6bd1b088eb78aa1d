import type { ExitCode } from "@lernie/contract";
import { Command } from "commander";
import type { World } from "./world.ts";

/** What the arguments ask for; running it loads the verb, so that no verb pays for another's libraries. */
type Action = (world: World) => Promise<ExitCode>;

export interface Parsed {
	readonly verb: string;
	readonly action: Action;
}

/** Verbs that other programs and repairs need and a day's work does not: shown by `help --all` alone (DESIGN §6). */
const PLUMBING = { hidden: true } as const;

const addHelp = (program: Command): void => {
	program.helpCommand(false);
	program
		.command("help [verb]")
		.description("this list, or one verb; with --all the plumbing too")
		.option("--all", "every verb")
		.action((name: string | undefined, flags: { readonly all?: boolean }) => {
			if (flags.all === true) program.configureHelp({ visibleCommands: ({ commands }) => [...commands] });
			const verb = name === undefined ? program : program.commands.find((command) => command.name() === name);
			if (verb === undefined) program.error(`error: unknown command '${name}'`);
			else verb.help();
		});
};

const addVerbs = (program: Command, choose: (verb: string, action: Action) => void): void => {
	program
		.command("demo")
		.description("the main job on a scripted model in a temporary workspace: no key, no network")
		.option("--keep", "leave the workspace and the repository in place")
		.action((flags) => choose("demo", async (world) => (await import("./verbs/demo.ts")).demo(world, flags)));
	program
		.command("new [path]")
		.description("create a workspace and print its path")
		.option("--model <row/model>", "the model that workers use")
		.option("--control <exe | none>", "the tool control that judges every call")
		.action((path, flags) =>
			choose("new", async (world) => (await import("./verbs/new.ts")).newWorkspace(world, path, flags)),
		);
	program
		.command("run <text>")
		.description("start an agent and drive it; its text goes to stdout (`-` reads the text from stdin)")
		.option("--name <name>", "a name for it, one word")
		.option("--model <row/model>", "in place of the configuration's")
		.option("--config <name>", "the configuration it runs under", "default")
		.option("--cwd <dir>", "work in this directory, which is not recorded")
		.option("--here", "work in the current directory, which is not recorded")
		.option("--max-steps <n>", "model calls before it rests, or `unlimited`")
		.option("--detach", "leave it to a driver of its own; its id goes to stdout")
		.action((text, flags) => choose("run", async (world) => (await import("./verbs/run.ts")).run(world, text, flags)));
	program
		.command("message <agent> <text>")
		.description("leave a message for an agent and wake it")
		.action((agent, text) =>
			choose("message", async (world) => (await import("./verbs/message.ts")).message(world, agent, text)),
		);
	program
		.command("stop <agent>")
		.description("stop the process that drives an agent; a message goes on with it")
		.action((agent) => choose("stop", async (world) => (await import("./verbs/stop.ts")).stop(world, agent)));
	program
		.command("ls")
		.description("the agents of the workspace and the state each is in")
		.action(() => choose("ls", async (world) => (await import("./verbs/ls.ts")).ls(world)));
	program
		.command("log [agent]")
		.description("one agent's story")
		.action((agent) => choose("log", async (world) => (await import("./verbs/log.ts")).log(world, agent)));
	program
		.command("held")
		.description("the calls that wait for an answer, and how to answer")
		.action(() => choose("held", async (world) => (await import("./verbs/held.ts")).held(world)));
	program
		.command("doctor")
		.description("what lies in the workspace that no agent owns")
		.option("--crash-sites", "list the points at which LERNIE_CRASH_AT can kill a driver")
		.action((flags) => choose("doctor", async (world) => (await import("./verbs/doctor.ts")).doctor(world, flags)));
	program
		.command("advance <agent>", PLUMBING)
		.description("drive an agent until it rests")
		.option("--hop", "exactly one hop")
		.action((agent, flags) =>
			choose("advance", async (world) => (await import("./verbs/advance.ts")).advance(world, agent, flags)),
		);
	program
		.command("scan", PLUMBING)
		.description("name agents that died unheard, and wake those whose mail was left lying")
		.action(() => choose("scan", async (world) => (await import("./verbs/scan.ts")).scan(world)));
	const control = program.command("control").description("look at tool controls");
	control
		.command("test <command>")
		.description("put a control through each point of its contract; exit code 1 where one fails")
		.option("--mode <once | serve>", "how it is asked", "once")
		.option("--timeout <seconds>", "the time limit of an answer")
		.action((command, flags) =>
			choose("control", async (world) => (await import("./verbs/control-test.ts")).controlTest(world, command, flags)),
		);
	const config = program.command("config").description("look at configurations");
	config
		.command("show [name]")
		.description("everything in effect, defaults marked")
		.action((name = "default") =>
			choose("config", async (world) => (await import("./verbs/config.ts")).configShow(world, name)),
		);
	config
		.command("check [name]")
		.description("load one configuration, or every one, as a drive would")
		.action((name) => choose("config", async (world) => (await import("./verbs/config.ts")).configCheck(world, name)));
};

/** Reads the arguments (DESIGN §6). Throws commander's error for help, version and misuse; answers what is to be done. */
export const parseArguments = (
	argv: readonly string[],
	version: string,
	write: { readonly out: (text: string) => void; readonly err: (text: string) => void },
): Parsed & { readonly workspace: string | undefined; readonly json: boolean } => {
	const chosen: Parsed[] = [];
	const program = new Command("lernie")
		.description("runs LLM agents whose whole state is a git branch; every tool call is judged before it runs")
		.version(`lernie ${version}`)
		.option("-w, --workspace <dir>", "the workspace; else LERNIE_WORKSPACE, else the one you stand in")
		.option("--json", "for machines: one document, or one object a line")
		.showHelpAfterError("(lernie --help lists the verbs)")
		.exitOverride()
		.configureOutput({ writeOut: write.out, writeErr: write.err });
	addVerbs(program, (verb, action) => {
		chosen.push({ verb, action });
	});
	addHelp(program);
	program.parse(argv, { from: "user" });
	const parsed = chosen[0] ?? program.help({ error: true });
	const { workspace, json } = program.opts<{ workspace?: string; json?: boolean }>();
	return { ...parsed, workspace, json: json === true };
};
