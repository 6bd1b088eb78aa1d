import { mkdirSync, renameSync } from "node:fs";
import { expect } from "vitest";
import { batch, createBatchWorkspace, type Invocation, named, ranTools } from "../support/batch.ts";
import { pauseAt } from "../support/paused.ts";
import { createPlace, processesNaming, until } from "../support/place.ts";
import { jsonLines } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import type { Workspace } from "../support/workspace.ts";

const onlyAgent = async (ws: Workspace): Promise<string> => {
	const [agent] = JSON.parse((await ws.in(["--json", "ls"])).stdout) as [{ id: string }];
	return agent.id;
};

const ENTRIES: readonly Invocation[] = [...named("alpha", "beta"), { name: "cd", input: { path: "/tmp" } }];

for (const [execution, site, ran] of [
	["serial", "consult.answered#2", []],
	["serial", "consult.answered#3", ["alpha"]],
	["serial", "tool.input#2", ["alpha"]],
	["serial", "tool.input#3", ["alpha", "beta"]],
	["parallel", "consult.answered#4", []],
	["parallel", "tool.input#1", []],
] as const)
	verifies("multi-tool-takeover", `${execution}, the agent is lost at ${site}: no further entry acts`, async () => {
		const ws = await createBatchWorkspace([batch(ENTRIES, { execution })], { granted: ["cd"] });
		const old = await pauseAt(ws, site, ["run", "go"]);
		const agent = await onlyAgent(ws);
		renameSync(ws.path("ws/inbox", agent), ws.path("inbox.old"));
		mkdirSync(ws.path("ws/inbox", agent));
		const next = await ws.advance(agent);
		expect(next, next.stderr).toMatchObject({ code: 0 });
		const tip = ws.tip(agent);
		const ended = await old.resume();
		expect(ended.code, ended.stderr).toBe(1);
		expect(ended.stderr).toContain("another process took it over");
		expect(ranTools(ws)).toEqual(ran);
		expect(ws.git("for-each-ref", "refs/lernie/cwd")).toBe("");
		expect(ws.tip(agent)).toBe(tip);
		expect(ws.results(agent)).toHaveLength(1);
	});

verifies(
	"multi-tool-stop-verb",
	"`lernie stop` kills a driver whose batch does not end, and all that the batch runs",
	async () => {
		const place = createPlace();
		const begun = (name: string): string => place.path(`${name}.begun`);
		const stubborn = (name: string): string =>
			`exec 2> /dev/null; trap '' TERM; : > ${begun(name)}; while :; do sleep 0.05; done`;
		const ws = await createBatchWorkspace([batch(named("alpha", "beta"), { execution: "parallel" })], {
			place,
			tools: { alpha: stubborn("alpha"), beta: stubborn("beta") },
			workflow: { tool_grace_seconds: 60 },
		});
		const started = ws.start(["-w", ws.dir, "run", "go"], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
		await until("both run", () => ws.exists("alpha.begun") && ws.exists("beta.begun"));
		const agent = await onlyAgent(ws);
		const stopped = await ws.in(["--json", "stop", agent]);
		expect(jsonLines(stopped.stdout)).toEqual([{ id: agent, outcome: "killed" }]);
		expect((await started.ended).signal).toBe("SIGKILL");
		expect(processesNaming(ws.root)).toEqual([]);
		const next = await ws.advance(agent);
		expect(next, next.stderr).toMatchObject({ code: 0 });
		expect(ws.results(agent)).toMatchObject([{ text: expect.stringContaining("unknown whether the call ran") }]);
		expect([...ranTools(ws)].sort()).toEqual(["alpha", "beta"]);
	},
);
