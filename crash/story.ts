import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPlace, type Place, processesNaming, until } from "../conformance/support/place.ts";
import { createWorkspace, type Workspace } from "../conformance/support/workspace.ts";

export const GOAL = "do it";
export const MAIL = "one thing more";
export const NOTE = "a note to self";
export const FINAL = "all done";
/** What the story's patch makes, in this order. */
export const PATCHED = ["p/one.txt", "p/two.txt"];
const AGENT = "story";

const PATCH = [
	"*** Begin Patch",
	...PATCHED.flatMap((path) => [`*** Add File: ${path}`, "+new"]),
	"*** End Patch",
].join("\n");

/** Logs that it started, synced, before it does anything else: every line is one start of one call. */
const TICK = `#!/bin/sh
read -r input
printf '%s %s\\n' "$LERNIE_CALL" "$input" >> "$LERNIE_HOME/starts.log"
sync -d "$LERNIE_HOME/starts.log"
`;

/** Holds \`ask\` until the operator has answered. Shell alone: a consult costs milliseconds. */
const CONTROL = `#!/bin/sh
read -r request
case "$request" in
*'"name":"forbidden"'*) echo '{"verdict":"refuse","reason":"never that"}' ;;
*'"name":"ask"'*) if [ -e "$LERNIE_HOME/answered" ]; then echo '{"verdict":"pass"}'; else echo '{"verdict":"hold","reason":"a person decides"}'; fi ;;
*) echo '{"verdict":"pass"}' ;;
esac
`;

/**
 * Every kind of call once: passed, refused, not granted, run in the driver, changing files from the driver, sending mail, held
 * between two that pass. Ids repeat from turn to turn, as some providers' do; the tag tells the calls apart.
 */
const SCRIPT = {
	calls: [
		{
			say: "looking",
			tools: [
				{ name: "tick", input: { tag: "first" } },
				{ name: "forbidden", input: { tag: "forbidden" } },
				{ name: "nosuch", input: { tag: "ungranted" } },
				{ name: "bash", input: { command: "echo ran >> runs.txt; mkdir -p d; echo data > d/file.txt" } },
			],
		},
		{
			tools: [
				{ name: "read_file", input: { path: "d/file.txt" } },
				{ name: "message", input: { agent: AGENT, content: NOTE } },
			],
		},
		{
			say: "and now",
			tools: [
				{ name: "tick", input: { tag: "before" } },
				{ name: "ask", input: { tag: "held" } },
				{ name: "tick", input: { tag: "after" } },
				{ name: "apply_patch", input: { input: PATCH } },
			],
		},
		{ say: FINAL },
	],
};

/**
 * Where a story is when the driver that will be killed begins. `run`: nothing is founded. `held`: the call waits for its
 * answer and mail lies in the inbox. `answered`: the same, and the answer is there.
 */
export type Phase = "run" | "held" | "answered";

const options = (place: Place) => ({
	place,
	script: SCRIPT,
	tools: ["tick", "forbidden", "ask", "bash", "read_file", "message", "apply_patch"],
	// Relative to the config root, so that a copied place has a control of its own.
	control: "control",
});

const copy = (from: string, to: string): void => {
	execFileSync("cp", ["-a", `${from}/.`, to]);
};

/** States to begin from, made once a test file: a copy costs a fraction of the drives that lead there. */
const templates = mkdtempSync(join(tmpdir(), "lernie-story-"));
const made = new Map<Phase, Promise<string>>();

export const removeTemplates = (): void => rmSync(templates, { recursive: true, force: true });

const furnish = (place: Place): void => {
	place.script("home/control", CONTROL);
	for (const name of ["tick", "forbidden", "ask"]) place.tool(name, TICK);
};

const make = async (phase: Phase): Promise<string> => {
	const place = createPlace();
	furnish(place);
	const ws = await createWorkspace(options(place));
	if (phase !== "run") {
		const ran = await ws.run(GOAL, { flags: ["--name", AGENT] });
		if (ran.code !== 10) throw new Error(`the story was not held: ${ran.code}\n${ran.stderr}`);
		const sent = await ws.in(["message", AGENT, MAIL]);
		if (sent.code !== 0) throw new Error(`no mail: ${sent.stderr}`);
		// The message woke a drive, which asks the control again and rests.
		await until("the drive that the message woke has ended", () => processesNaming(place.root).length === 0);
	}
	if (phase === "answered") place.write("home/answered", "");
	const path = join(templates, phase);
	execFileSync("mkdir", [path]);
	copy(place.root, path);
	return path;
};

const template = (phase: Phase): Promise<string> => {
	const known = made.get(phase) ?? make(phase);
	made.set(phase, known);
	return known;
};

export interface Story extends Workspace {
	readonly phase: Phase;
	/** The agent, once its ref exists. */
	readonly agent: () => string | undefined;
	/** The arguments that begin this story's drive. */
	readonly begin: () => readonly string[];
}

/** A story in a place of its own, in the given phase. */
export const openStory = async (phase: Phase): Promise<Story> => {
	const from = await template(phase);
	const place = createPlace();
	copy(from, place.root);
	const ws = await createWorkspace({ ...options(place), existing: true });
	const agent = (): string | undefined =>
		ws.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/agents").trim() || undefined;
	const begin = (): readonly string[] => {
		const id = agent();
		return id === undefined ? ["run", "--name", AGENT, GOAL] : ["advance", id];
	};
	return { ...ws, phase, agent, begin };
};
