import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { processesNaming } from "../conformance/support/place.ts";
import { type Call, faultsOf, type Line, openAt, transcriptOf } from "../conformance/support/transcript.ts";
import type { Workspace } from "../conformance/support/workspace.ts";
import { FINAL, GOAL, MAIL, NOTE, PATCHED, type Story } from "./story.ts";

interface Start {
	/** The call as its environment names it: workspace, agent, step, directory. */
	readonly call: string;
	readonly tag: string;
}

/** Every start of a counting tool so far, or those of one call. */
export const startsOf = (ws: Workspace, tag?: string): readonly Start[] => {
	const lines = ws.exists("home/starts.log") ? ws.read("home/starts.log").split("\n") : [];
	const starts = lines.flatMap((line) => {
		const [call = "", input = ""] = line.split(" ");
		return call === "" ? [] : [{ call, tag: (JSON.parse(input) as { tag: string }).tag }];
	});
	return tag === undefined ? starts : starts.filter((start) => start.tag === tag);
};

interface Step {
	readonly name: string;
	/** The commit its model call was made from. */
	readonly commit: string;
}

const stepsOf = (ws: Workspace, agent: string): readonly Step[] => {
	const directory = join(ws.dir, "steps", agent);
	return (
		readdirSync(directory)
			.filter((name) => /^\d+$/.test(name))
			// One that could not be opened on a full disk: no call was made.
			.filter((name) => ["meta.json", "request.json"].some((file) => existsSync(join(directory, name, file))))
			.map((name) => {
				const meta = JSON.parse(readFileSync(join(directory, name, "meta.json"), "utf8")) as { commit: string };
				return { name, commit: meta.commit };
			})
	);
};

interface Outcome {
	readonly call: Call;
	readonly line: Line;
	readonly verdict: string;
	/** Whether the record says that the call may have started; undefined where the step is not on record. */
	readonly recorded: boolean | undefined;
}

/** What became of every call of a transcript. The step of an entry is the last one that was begun at its parent. */
const outcomesOf = (ws: Workspace, agent: string, lines: readonly Line[]): readonly Outcome[] => {
	const steps = stepsOf(ws, agent);
	return lines.flatMap((line, at) => {
		const step = steps.findLast(({ commit }) => commit === line.parent)?.name;
		const window = lines.slice(at + 1, at + 1 + line.calls.length);
		return line.calls.map((call, nth): Outcome => {
			const result = window[nth];
			if (result === undefined) throw new Error(`call ${call.id} of entry ${line.number} has no result`);
			const input = step && join(ws.dir, "steps", agent, step, "tools", call.id, "input.json");
			const recorded = input === undefined ? undefined : existsSync(input);
			return { call, line: result, verdict: result.trailers["Lernie-Verdict"] ?? "", recorded };
		});
	});
};

const TICKS = ["tick", "ask", "forbidden", "nosuch"];

/** How many of the patch's files are there. A second try would be refused by the first of them. */
const patchedBy = (story: Story, agent: string): number =>
	PATCHED.filter((path) => existsSync(join(story.dir, "agents", agent, path))).length;

/** How often a call acted: a tick's log, the patch's files, the file that bash appends to, the note that was delivered. */
const actsOf = (story: Story, agent: string, lines: readonly Line[], { name, input }: Call): number => {
	if (TICKS.includes(name)) return startsOf(story, String(input.tag)).length;
	if (name === "apply_patch") return Math.ceil(patchedBy(story, agent) / PATCHED.length);
	if (name === "message") return lines.filter(({ side, text }) => side === "user" && text === NOTE).length;
	const runs = join(story.dir, "agents", agent, "runs.txt");
	return existsSync(runs) ? readFileSync(runs, "utf8").split("ran\n").length - 1 : 0;
};

/** Reading fails where the call that would have made the file was cut off. */
const wantedCode = (story: Story, agent: string, { name }: Call): number =>
	name === "read_file" && !existsSync(join(story.dir, "agents", agent, "d/file.txt")) ? 1 : 0;

const checkOutcome = (story: Story, agent: string, lines: readonly Line[], outcome: Outcome, told: string): void => {
	const { call, verdict, recorded, line } = outcome;
	const what = `${told}: ${call.name} ${JSON.stringify(call.input)}, answered ${verdict}`;
	const acts = call.name === "read_file" ? undefined : actsOf(story, agent, lines, call);
	const text = line.answers[0]?.text ?? "";
	switch (verdict) {
		case "pass":
			expect(recorded, what).toBe(true);
			if (text.includes("could not be started: ENOSPC")) {
				expect(acts ?? 0, what).toBe(0);
				break;
			}
			// A shell that was killed is an answer of its own; how far it came nobody knows.
			if (call.name === "bash" && text.startsWith("Exit code: 137\n")) break;
			expect(acts ?? 1, what).toBe(1);
			if (call.name === "apply_patch") expect(patchedBy(story, agent), what).toBe(PATCHED.length);
			expect(text.split("\n")[0], what).toBe(`Exit code: ${wantedCode(story, agent, call)}`);
			break;
		case "unknown":
			expect(acts ?? 0, what).toBeLessThanOrEqual(1);
			expect(recorded ?? true, `${what}, but nothing says that it may have started`).toBe(true);
			expect(text, what).toContain("It is unknown whether the call ran");
			break;
		case "not-started":
			expect(acts ?? 0, what).toBe(0);
			expect(recorded, `${what}, but its start is on record`).toBe(false);
			expect(text, what).toContain("certainly not started");
			break;
		case "stopped":
			expect(acts ?? 0, what).toBeLessThanOrEqual(text.includes("before it started") ? 0 : 1);
			if (!text.includes("before it started")) expect(recorded, what).toBe(true);
			expect(text, what).toMatch(/did not return: the agent was stopped /);
			break;
		case "refuse":
			expect([call.name, acts, recorded], what).toEqual(["forbidden", 0, false]);
			expect(text, what).toContain("never that");
			break;
		case "ungranted":
			expect([call.name, acts, recorded], what).toEqual(["nosuch", 0, false]);
			break;
		default:
			expect.fail(`${what}: an unexpected verdict`);
	}
};

/** Every commit a model call was made from, whether or not its answer came to be committed, has no open call. */
const checkPairing = (story: Story, agent: string, lines: readonly Line[], told: string): void => {
	expect(faultsOf(lines), told).toEqual([]);
	expect(openAt(lines), `${told}: calls without a result at the end`).toEqual([]);
	for (const { name, commit } of stepsOf(story, agent)) {
		const at = lines.findIndex((line) => line.commit === commit);
		expect(at, `${told}: step ${name} was begun at ${commit}, which is no entry`).toBeGreaterThanOrEqual(0);
		expect(openAt(lines.slice(0, at + 1)), `${told}: step ${name} was begun with open calls`).toEqual([]);
	}
};

const lockFiles = (directory: string): readonly string[] =>
	readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".lock"));

/** What holds of a story that rests, whatever was killed on the way there. */
export const checkRest = (story: Story, agent: string, told: string): void => {
	expect(processesNaming(story.root), `${told}: processes left`).toEqual([]);
	const lines = transcriptOf(story, agent);
	checkPairing(story, agent, lines, told);
	const outcomes = outcomesOf(story, agent, lines);
	expect(outcomes, told).toHaveLength(10);
	for (const outcome of outcomes) checkOutcome(story, agent, lines, outcome, told);
	const calls = startsOf(story).map(({ call }) => call);
	expect(new Set(calls).size, `${told}: a call was started twice: ${calls.join(" ")}`).toBe(calls.length);
	if (!story.exists("home/answered")) expect(startsOf(story, "held"), `${told}: started without an answer`).toEqual([]);

	const { side, text } = lines.at(-1) ?? {};
	expect({ side, text }, told).toEqual({ side: "assistant", text: FINAL });
	const received = lines.filter((line) => line.side === "user" && line.text !== NOTE).map((line) => line.text);
	expect(received, `${told}: messages of a person`).toEqual(story.phase === "run" ? [GOAL] : [GOAL, MAIL]);
	expect(readdirSync(join(story.dir, "inbox", agent)), `${told}: left in the inbox`).toEqual([]);

	expect(story.mark(agent), `${told}: a mark is left`).toBeUndefined();
	expect(lockFiles(story.repo), `${told}: lock files`).toEqual([]);
	checkDirectory(story, agent, told);
};

/** The agent's directory is what the tip says it is. */
const checkDirectory = (story: Story, agent: string, told: string): void => {
	const directory = join(story.dir, "agents", agent);
	const recorded = story
		.git("ls-tree", "-r", "--name-only", `agents/${agent}`)
		.split("\n")
		.filter((path) => path !== "" && !/^(messages\/|descriptions\/|goal\.md$|soul\.md$|name$)/.test(path));
	const there = execFileSync("find", [".", "-type", "f", "-printf", "%P\\n"], { cwd: directory, encoding: "utf8" });
	expect(there.split("\n").filter(Boolean).sort(), told).toEqual(recorded.sort());
	for (const path of recorded)
		expect(story.git("show", `agents/${agent}:${path}`), told).toBe(readFileSync(join(directory, path), "utf8"));
};
