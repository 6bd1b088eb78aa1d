import { expect } from "vitest";
import { ticks } from "../support/controls.ts";
import { verifies } from "../support/verifies.ts";
import { crashAt, createWindow, faultCode, files, leaveMail, mailOf, steps } from "../support/window.ts";
import type { Workspace } from "../support/workspace.ts";

const UNKNOWN = "It is unknown whether the call ran";
const NOT_STARTED = "certainly not started";

/** A run whose driver dies at a crash site; hands over the agent. */
const dies = async (ws: Workspace, site: string): Promise<string> => {
	const ran = await ws.run("go", crashAt(site));
	expect(ran, ran.stderr).toMatchObject({ code: null, signal: "SIGKILL" });
	return ran.agent;
};

for (const [site, text, started] of [
	["entry.ref", NOT_STARTED, false],
	["consult.answered", NOT_STARTED, false],
	["tool.input", UNKNOWN, false],
	["tool.output", UNKNOWN, true],
] as const)
	verifies(
		"tools-99",
		`killed at ${site}: the open call is answered, then mail is delivered, then the model`,
		async () => {
			const ws = await createWindow(1);
			const agent = await dies(ws, site);
			leaveMail(ws, agent, "hello");
			const ran = await ws.advance(agent);
			expect(ran, ran.stderr).toMatchObject({ code: 0 });
			expect(files(ws, agent)).toEqual([
				"001-user.md",
				"002-model-a.json",
				"003-tool.json",
				"004-user.md",
				"005-model-a.json",
			]);
			const [settled] = ws.results(agent);
			expect(settled).toMatchObject({ id: "t1", isError: true });
			for (const part of ['"alpha"', "did not return", "died before recording an outcome", text])
				expect(settled?.text).toContain(part);
			expect(settled?.text).not.toContain("Exit code:");
			expect(ws.entries(agent)[3]?.text).toContain("hello");
			expect(mailOf(ws, agent)).toEqual([]);
			expect(ticks(ws)).toEqual(started ? ["alpha"] : []);
			expect(ran.stderr).toContain("an earlier drive died");
		},
	);

verifies(
	"tools-100",
	"only the call without a result is answered; the result that is there stays as it is",
	async () => {
		const ws = await createWindow(2);
		const agent = await dies(ws, "result.ref");
		const before = ws.entries(agent);
		expect(before.map(({ file }) => file)).toEqual(["001-user.md", "002-model-a.json", "003-tool.json"]);
		const ran = await ws.advance(agent);
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(ws.entries(agent).slice(0, 3)).toEqual(before);
		expect(ws.results(agent)).toMatchObject([
			{ id: "t1", isError: false },
			{ id: "t2", isError: true, text: expect.stringContaining(NOT_STARTED) },
		]);
		expect(ticks(ws)).toEqual(["alpha"]);
	},
);

verifies(
	"tools-100",
	"of two open calls, the one whose start is on record is unknown and the later one was not started",
	async () => {
		const ws = await createWindow(2);
		const agent = await dies(ws, "tool.exited");
		const ran = await ws.advance(agent);
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(ws.results(agent)).toMatchObject([
			{ id: "t1", text: expect.stringContaining(UNKNOWN) },
			{ id: "t2", text: expect.stringContaining(NOT_STARTED) },
		]);
		expect(ws.trailers(agent, "Lernie-Verdict")).toEqual(["not-started", "unknown"]);
		expect(ticks(ws)).toEqual(["alpha"]);
	},
);

/** Puts a message behind the agent's open call, with git itself: no verb of lernie can. */
const buryOpenCall = (ws: Workspace, agent: string): void => {
	const head = `agents/${agent}`;
	const blob = ws.gitInput("---\nfrom: user\n---\nhello", "hash-object", "-w", "--stdin").trim();
	const messages = `${ws.git("ls-tree", `${head}:messages`)}100644 blob ${blob}\t003-user.md\n`;
	const inner = ws.gitInput(messages, "mktree").trim();
	const kept = ws
		.git("ls-tree", head)
		.split("\n")
		.filter((line) => line !== "" && !line.endsWith("\tmessages"));
	const tree = ws.gitInput(`${[...kept, `040000 tree ${inner}\tmessages`].join("\n")}\n`, "mktree").trim();
	const message = ws.git("log", "-1", "--format=%B", head);
	const identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"];
	const commit = ws.gitInput(message, ...identity, "commit-tree", tree, "-p", head).trim();
	ws.git("update-ref", `refs/heads/${head}`, commit);
};

verifies(
	"tools-102",
	"a call without a result behind which a message lies is a fault, and nothing is added",
	async () => {
		const ws = await createWindow(1);
		const agent = await dies(ws, "entry.ref");
		buryOpenCall(ws, agent);
		const before = ws.tip(agent);
		const ran = await ws.advance(agent, { flags: ["--json"] });
		expect(ran, ran.stderr).toMatchObject({ code: 1 });
		expect(faultCode(ran)).toBe("UNPAIRED_TOOL_USE");
		expect(ran.stderr).toContain("entry 2 called t1");
		expect(ws.tip(agent)).toBe(before);
		expect(steps(ws, agent)).toBe(1);
		expect(ticks(ws)).toEqual([]);
	},
);

verifies("tools-103", "with such a history mail is delivered before the fault", async () => {
	const ws = await createWindow(1);
	const agent = await dies(ws, "entry.ref");
	buryOpenCall(ws, agent);
	leaveMail(ws, agent, "are you there?");
	const ran = await ws.advance(agent, { flags: ["--json"] });
	expect(ran, ran.stderr).toMatchObject({ code: 1 });
	expect(faultCode(ran)).toBe("UNPAIRED_TOOL_USE");
	expect(files(ws, agent)).toEqual(["001-user.md", "002-model-a.json", "003-user.md", "004-user.md"]);
	expect(mailOf(ws, agent)).toEqual([]);
	expect(steps(ws, agent)).toBe(1);
});

verifies(
	"tools-104",
	"a driver that dies while it answers open calls is followed by one that answers the rest once",
	async () => {
		const ws = await createWindow(3);
		const agent = await dies(ws, "entry.ref");
		for (const answered of [1, 2]) {
			expect(await ws.advance(agent, crashAt("result.ref"))).toMatchObject({ signal: "SIGKILL" });
			expect(ws.results(agent)).toHaveLength(answered);
		}
		const ran = await ws.advance(agent);
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(ws.results(agent).map(({ id }) => id)).toEqual(["t1", "t2", "t3"]);
		for (const { text } of ws.results(agent)) expect(text).toContain(NOT_STARTED);
		const tip = ws.tip(agent);
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ws.tip(agent)).toBe(tip);
		expect(ticks(ws)).toEqual([]);
	},
);

verifies("tools-104", "an open call is answered though an earlier turn used its id", async () => {
	const script = { calls: [{ tools: [{ name: "alpha" }] }, { tools: [{ name: "beta" }] }, { say: "done" }] };
	const ws = await createWindow(1, {}, { script });
	const agent = await dies(ws, "entry.ref#2");
	const ran = await ws.advance(agent);
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ws.results(agent)).toMatchObject([
		{ id: "call_1", isError: false },
		{ id: "call_1", isError: true, text: expect.stringContaining(NOT_STARTED) },
	]);
	expect(ticks(ws)).toEqual(["alpha"]);
});
