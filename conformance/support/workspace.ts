import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { expect, onTestFinished } from "vitest";
import { stringify } from "yaml";
import { createPlace, type Place, type Ran, type RunOptions } from "./place.ts";

/** A scripted model's file as data (CONTRACTS §9). */
export interface Script {
	readonly calls: readonly Readonly<Record<string, unknown>>[];
	readonly then?: "fail" | "end" | "repeat";
}

export interface WorkspaceOptions {
	readonly script: Script;
	/** Tools of the worker; the shipped five by default. */
	readonly tools?: readonly string[];
	/** Path of a control, or `none`; `none` by default. */
	readonly control?: string;
	/** Keys of `tool_control` besides `command`. */
	readonly controlOptions?: Readonly<Record<string, unknown>>;
	/** Further keys of `workflow.yaml`. */
	readonly workflow?: Readonly<Record<string, unknown>>;
	/** Further keys of the role. */
	readonly role?: Readonly<Record<string, unknown>>;
	readonly place?: Place;
	/** The place holds the workspace already, copied from another one: nothing is written and nothing is created. */
	readonly existing?: boolean;
}

interface Entry {
	readonly number: number;
	readonly file: string;
	readonly text: string;
}

/** A workspace in a place, with helpers that read its record with git itself. */
export interface Workspace extends Place {
	readonly dir: string;
	readonly repo: string;
	/** `lernie -w <dir> …` with the script in place. */
	readonly in: (args: readonly string[], options?: RunOptions) => Promise<Ran>;
	/** `lernie run <text>`; the agent's id is read from the first line of stderr. */
	readonly run: (
		text?: string,
		options?: RunOptions & { readonly flags?: readonly string[] },
	) => Promise<Ran & { readonly agent: string }>;
	readonly advance: (agent: string, options?: RunOptions & { readonly flags?: readonly string[] }) => Promise<Ran>;
	readonly git: (...args: readonly string[]) => string;
	/** Like `git`, for output that is not text. */
	readonly gitBytes: (...args: readonly string[]) => Buffer;
	/** Like `git`, but with bytes on stdin. */
	readonly gitInput: (input: string, ...args: readonly string[]) => string;
	/** The transcript at the tip, in order. */
	readonly entries: (agent: string) => readonly Entry[];
	/** The text of every tool result, in order. */
	readonly results: (
		agent: string,
	) => readonly { readonly id: string; readonly text: string; readonly isError: boolean }[];
	readonly mark: (agent: string) => Readonly<Record<string, string>> | undefined;
	readonly tip: (agent: string) => string;
	/** Values of a trailer over the agent's commits, newest first. */
	readonly trailers: (agent: string, name: string) => readonly string[];
	readonly setScript: (script: Script) => void;
	/**
	 * Moves an agent to another configuration: a commit on `config/<name>` with these files changed, and one on the
	 * agent's branch whose trailer names it. What the verb `retarget` will do.
	 */
	readonly reconfigure: (agent: string, change: Partial<Omit<WorkspaceOptions, "script" | "place">>) => void;
}

const providers = (options: Omit<WorkspaceOptions, "script">): string =>
	stringify({
		roles: {
			worker: {
				provider: "scripted",
				model: "model-a",
				tools: options.tools ?? ["bash", "read_file", "apply_patch", "cd", "message"],
				...options.role,
			},
		},
	});

const workflow = ({ control = "none", controlOptions, workflow: more }: Omit<WorkspaceOptions, "script">): string =>
	stringify({ tool_control: control === "none" ? "none" : { command: control, ...controlOptions }, ...more });

const LARGE = { maxBuffer: 1 << 28 } as const;

const trailer = (name: string): string => `%(trailers:key=${name},valueonly,separator=%x0a)`;

/** Creates a workspace; after the test its record must pass `git fsck --strict`. */
export const createWorkspace = async (options: WorkspaceOptions): Promise<Workspace> => {
	const place = options.place ?? createPlace();
	const [dir, repo] = [place.path("ws"), place.path("ws/repo.git")];
	const setScript = (script: Script): void => {
		place.write("script.yaml", stringify(script));
	};
	if (options.existing !== true) {
		setScript(options.script);
		place.write("home/template/providers.yaml", providers(options));
		place.write("home/template/workflow.yaml", workflow(options));
	}
	const scripted = { LERNIE_SCRIPT: place.path("script.yaml") };
	const git = (...args: readonly string[]): string =>
		execFileSync("git", ["-C", repo, ...args], {
			encoding: "utf8",
			env: { ...place.env },
			stdio: ["ignore", "pipe", "pipe"],
			...LARGE,
		});
	const gitBytes = (...args: readonly string[]): Buffer =>
		execFileSync("git", ["-C", repo, ...args], { env: { ...place.env }, stdio: ["ignore", "pipe", "pipe"], ...LARGE });
	const gitInput = (input: string, ...args: readonly string[]): string =>
		execFileSync("git", ["-C", repo, ...args], { encoding: "utf8", env: { ...place.env }, input });
	if (options.existing !== true) {
		const created = await place.lernie(["new", dir], { env: scripted });
		expect(created, created.stderr).toMatchObject({ code: 0 });
	}
	onTestFinished(() => {
		if (place.exists("ws/repo.git")) expect(git("fsck", "--strict", "--no-dangling").trim()).toBe("");
	});
	const inside = (args: readonly string[], run: RunOptions = {}): Promise<Ran> =>
		place.lernie(["-w", dir, ...args], { ...run, env: { ...scripted, ...run.env } });
	const entries = (agent: string): readonly Entry[] => {
		const found = git("ls-tree", "-r", `agents/${agent}`, "messages/")
			.split("\n")
			.filter((line) => line !== "")
			.map((line) => {
				const [head = "", path = ""] = line.split("\t");
				const file = path.slice(path.lastIndexOf("/") + 1);
				return { number: Number.parseInt(file, 10), file, oid: head.split(" ")[2] ?? "" };
			});
		const input = found.map(({ oid }) => `${oid}\n`).join("");
		const bytes = execFileSync("git", ["-C", repo, "cat-file", "--batch"], { env: { ...place.env }, input, ...LARGE });
		let at = 0;
		return found
			.map(({ number, file }) => {
				const head = bytes.indexOf("\n", at);
				const end = head + 1 + Number(bytes.toString("latin1", at, head).split(" ")[2]);
				at = end + 1;
				return { number, file, text: bytes.toString("utf8", head + 1, end) };
			})
			.sort((a, b) => a.number - b.number);
	};
	const treeWith = (files: Readonly<Record<string, string>>, base: string): string => {
		const lines = Object.entries(files).map(([name, body]) => {
			return `100644 blob ${gitInput(body, "hash-object", "-w", "--stdin").trim()}\t${name}`;
		});
		const kept = git("ls-tree", base)
			.split("\n")
			.filter((line) => line !== "" && !((line.split("\t")[1] ?? "") in files));
		return gitInput(`${[...kept, ...lines].join("\n")}\n`, "mktree").trim();
	};
	const identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"] as const;
	return {
		...place,
		dir,
		repo,
		in: inside,
		run: async (text = "do it", run = {}) => {
			const ran = await inside(["run", ...(run.flags ?? []), text], run);
			const first = ran.stderr.split("\n").find((line) => line.startsWith("agent ")) ?? "";
			return { ...ran, agent: first.split(" ")[1] ?? "" };
		},
		advance: (agent, run = {}) => inside(["advance", ...(run.flags ?? []), agent], run),
		git,
		gitBytes,
		gitInput,
		entries,
		results: (agent) =>
			entries(agent)
				.filter(({ file }) => file.endsWith("-tool.json"))
				.flatMap(({ text }) =>
					(JSON.parse(text) as { tool_use_id: string; is_error: boolean; content: { text: string }[] }[]).map(
						(block) => ({
							id: block.tool_use_id,
							text: block.content.map((part) => part.text).join(""),
							isError: block.is_error,
						}),
					),
				),
		mark: (agent) => {
			if (git("for-each-ref", `refs/lernie/held/${agent}`) === "") return undefined;
			return JSON.parse(git("cat-file", "blob", `refs/lernie/held/${agent}`)) as Record<string, string>;
		},
		tip: (agent) => git("rev-parse", `agents/${agent}`).trim(),
		trailers: (agent, name) =>
			git("log", `--format=${trailer(name)}`, `agents/${agent}`)
				.split("\n")
				.filter((line) => line !== ""),
		setScript,
		reconfigure: (agent, change) => {
			const next = { ...options, ...change };
			const tree = treeWith({ "providers.yaml": providers(next), "workflow.yaml": workflow(next) }, "config/default");
			const config = gitInput(
				"config: advance [config/default]\n",
				...identity,
				"commit-tree",
				tree,
				"-p",
				"config/default",
			).trim();
			git("update-ref", "refs/heads/config/default", config);
			const facts = git("log", "-1", "--format=%(trailers:only)", `agents/${agent}`)
				.split("\n")
				.filter((line) => /^Lernie-(Role|Model|Limit|Cwd): /.test(line));
			const message = `config: retarget [${agent}]\n\n${[...facts, `Lernie-Config: ${config}`].join("\n")}\n`;
			const tip = gitInput(
				message,
				...identity,
				"commit-tree",
				`agents/${agent}^{tree}`,
				"-p",
				`agents/${agent}`,
			).trim();
			git("update-ref", `refs/heads/agents/${agent}`, tip);
		},
	};
};

/** The request bytes a control is shown, and their digest, rebuilt from the parts (CONTRACTS §3, §4). */
export const digestOf = (call: { id: string; name: string; input: string }, agent: string, role = "worker"): string =>
	createHash("sha256")
		.update(
			`{"id":${JSON.stringify(call.id)},"name":${JSON.stringify(call.name)},"input":${call.input},"role":${JSON.stringify(role)},"agent_id":${JSON.stringify(agent)}}`,
		)
		.digest("hex");
