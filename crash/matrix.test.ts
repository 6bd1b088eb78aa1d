import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { transcriptOf } from "../conformance/support/transcript.ts";
import { verifies } from "../conformance/support/verifies.ts";
import { checkRest } from "./check.ts";
import { driveToRest, runKilledAt } from "./drives.ts";
import { checkUnfounded } from "./kill-once.ts";
import { MAIL, openStory, type Phase, removeTemplates, type Story } from "./story.ts";

afterAll(removeTemplates);

interface Found {
	readonly story: Story;
	readonly agent: string;
	readonly stepFile: (step: number, ...parts: readonly string[]) => string;
	readonly steps: () => number;
	readonly sides: () => readonly string[];
	/** Verdicts on the calls answered so far, in order. */
	readonly verdicts: () => readonly string[];
	readonly inbox: () => readonly string[];
}

interface Row {
	readonly name: string;
	readonly phase: Phase;
	readonly at: string;
	/** What `ls` calls the agent between the two drives. */
	readonly state: string;
	readonly disk: (found: Found) => void;
	/** After one more drive. */
	readonly next: (found: Found, before: Found) => void;
}

const look = (story: Story, agent: string): Found => {
	const lines = transcriptOf(story, agent);
	const steps = join(story.dir, "steps", agent);
	const count = existsSync(steps) ? readdirSync(steps).filter((name) => /^\d+$/.test(name)).length : 0;
	const inbox = readdirSync(join(story.dir, "inbox", agent));
	return {
		story,
		agent,
		stepFile: (step, ...parts) => join(steps, String(step).padStart(3, "0"), ...parts),
		steps: () => count,
		sides: () => lines.map(({ side }) => side),
		verdicts: () => lines.flatMap(({ side, trailers }) => (side === "tool" ? [trailers["Lernie-Verdict"] ?? ""] : [])),
		inbox: () => inbox,
	};
};

/** The rows of `spec/core.md` §23.3 that can occur here (CONTRACTS §13), in its order. */
const ROWS: readonly Row[] = [
	{
		name: "delivery: commit made, inbox file not yet removed",
		phase: "answered",
		at: "delivery.committed",
		state: "pending",
		disk: ({ inbox, sides }) => expect([inbox(), sides().at(-1)]).toEqual([["user-001.md"], "user"]),
		next: ({ inbox, sides }, before) => expect([inbox(), sides()]).toEqual([[], [...before.sides(), "assistant"]]),
	},
	{
		name: "after delivery, before the model call",
		phase: "answered",
		at: "call.request",
		state: "pending",
		disk: ({ sides, steps, stepFile }) => {
			expect(sides().at(-1)).toBe("user");
			expect(existsSync(stepFile(steps(), "response.json"))).toBe(false);
		},
		next: ({ steps, sides }, before) => expect([steps(), sides().at(-1)]).toEqual([before.steps() + 1, "assistant"]),
	},
	{
		name: "during the model call",
		phase: "answered",
		at: "call.first-byte",
		state: "pending",
		disk: ({ steps, stepFile }) =>
			expect(readFileSync(stepFile(steps(), "response.json"), "utf8")).not.toContain('{"type":"end"}'),
		next: ({ steps, sides }, before) => expect([steps(), sides().at(-1)]).toEqual([before.steps() + 1, "assistant"]),
	},
	{
		name: "stream complete, entry not committed: the call is repeated",
		phase: "run",
		at: "call.sealed#2",
		state: "pending",
		disk: ({ steps, stepFile, sides }) => {
			expect(readFileSync(stepFile(steps(), "response.json"), "utf8")).toContain('{"type":"end"}');
			expect(sides().at(-1)).toBe("tool");
		},
		next: ({ steps }, before) => expect(steps()).toBe(before.steps() + 2),
	},
	{
		name: "assistant entry committed, no tool finished",
		phase: "run",
		at: "entry.ref",
		state: "crashed",
		disk: ({ sides }) => expect(sides()).toEqual(["user", "assistant"]),
		next: ({ verdicts }) =>
			expect(verdicts().slice(0, 4)).toEqual(["not-started", "not-started", "not-started", "not-started"]),
	},
	{
		name: "tool finished, result not committed: its record is never read back",
		phase: "run",
		at: "tool.output",
		state: "crashed",
		disk: ({ sides, stepFile }) => {
			expect(sides()).toEqual(["user", "assistant"]);
			expect(existsSync(stepFile(1, "tools", "call_1", "output.json"))).toBe(true);
		},
		next: ({ verdicts }) =>
			expect(verdicts().slice(0, 4)).toEqual(["unknown", "not-started", "not-started", "not-started"]),
	},
	{
		name: "result object written, ref not moved",
		phase: "run",
		at: "entry.objects#3",
		state: "crashed",
		disk: ({ sides }) => expect(sides()).toEqual(["user", "assistant"]),
		next: ({ verdicts }) =>
			expect(verdicts().slice(0, 4)).toEqual(["unknown", "not-started", "not-started", "not-started"]),
	},
	{
		name: "all results committed, before the next hop",
		phase: "run",
		at: "result.ref#4",
		state: "pending",
		disk: ({ verdicts }) => expect(verdicts()).toEqual(["pass", "refuse", "ungranted", "pass"]),
		next: ({ verdicts, sides }, before) => {
			expect(verdicts().slice(0, 4)).toEqual(before.verdicts());
			expect(sides()[6]).toBe("assistant");
		},
	},
	{
		name: "held: hold answered, mark not written",
		phase: "run",
		at: "consult.answered#7",
		state: "crashed",
		disk: ({ story, agent }) => expect(story.mark(agent)).toBeUndefined(),
		next: ({ verdicts }) => expect(verdicts().slice(-4)).toEqual(["pass", "not-started", "not-started", "not-started"]),
	},
	{
		name: "held: after the mark, before the release",
		phase: "run",
		at: "mark.written",
		state: "held",
		disk: ({ story, agent }) => expect(story.mark(agent)).toMatchObject({ tool: "ask", kind: "hold" }),
		next: ({ story, agent, sides }, before) => {
			expect(story.mark(agent)).toMatchObject({ tool: "ask" });
			expect(sides()).toEqual(before.sides());
		},
	},
	{
		name: "held: mark cleared, call not begun",
		phase: "answered",
		at: "mark.cleared",
		state: "crashed",
		disk: ({ story, agent }) => expect(story.mark(agent)).toBeUndefined(),
		next: ({ verdicts }) => expect(verdicts().slice(-3)).toEqual(["not-started", "not-started", "not-started"]),
	},
	{
		name: "final answer committed: nothing is due",
		phase: "answered",
		at: "entry.ref",
		state: "done",
		disk: ({ sides }) => expect(sides().at(-1)).toBe("assistant"),
		next: ({ sides, steps }, before) => expect([sides(), steps()]).toEqual([before.sides(), before.steps()]),
	},
];

for (const { name, phase, at, state, disk, next } of ROWS)
	verifies("core-10", `killed ${name}`, async () => {
		const story = await openStory(phase);
		expect((await runKilledAt(story, story.begin(), at, "driver")).signal).toBe("SIGKILL");
		const agent = story.agent() ?? "";
		const before = look(story, agent);
		disk(before);
		const listed = JSON.parse((await story.in(["--json", "ls"])).stdout) as { state: string }[];
		expect(listed.map((row) => row.state)).toEqual([state]);
		const ran = await story.advance(agent);
		expect([0, 10], ran.stderr).toContain(ran.code);
		next(look(story, agent), before);
		await driveToRest(story, agent, name);
		checkRest(story, agent, name);
	});

verifies("core-10", "killed after a deposit, before anybody is woken: the next drive delivers it", async () => {
	const story = await openStory("run");
	expect((await story.in(story.begin())).code).toBe(10);
	const agent = story.agent() ?? "";
	expect((await runKilledAt(story, ["message", agent, MAIL], "deposit.written", "driver")).signal).toBe("SIGKILL");
	expect(readdirSync(join(story.dir, "inbox", agent))).toEqual(["user-001.md"]);
	await driveToRest(story, agent, "deposit");
	checkRest({ ...story, phase: "answered" }, agent, "deposit");
});

verifies("core-10", "killed before the founding is complete: no agent, and doctor names the inbox", async () => {
	const story = await openStory("run");
	expect((await runKilledAt(story, story.begin(), "found.objects", "driver")).signal).toBe("SIGKILL");
	await checkUnfounded(story, "founding");
});
