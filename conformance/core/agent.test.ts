import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { expect } from "vitest";
import { consults, shellControl, ticks, tickTool } from "../support/controls.ts";
import { createPlace } from "../support/place.ts";
import { bash, jsonLines, runCalls, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

verifies("core-1", "a new workspace has one ref, and no control file reaches an agent", async () => {
	const { ws, agent } = await runCalls([bash("ls -A")]);
	expect(ws.git("for-each-ref", "--format=%(refname)").trim().split("\n").sort()).toEqual(
		["refs/heads/config/default", `refs/heads/agents/${agent}`, `refs/lernie/owner/${agent}`].sort(),
	);
	const paths = ws.git("ls-tree", "-r", "--name-only", `agents/${agent}`);
	expect(paths).not.toMatch(/^(manifest|workflow|providers)\.yaml$|^version$|^souls\//m);
	const fresh = await createWorkspace({ place: createPlace(), script: { calls: [] } });
	expect(fresh.git("for-each-ref", "--format=%(refname)").trim()).toBe("refs/heads/config/default");
});

verifies("core-2", "an answer without a tool is two entries, exit 0, the id named, the lease free", async () => {
	const ws = await createWorkspace({ script: { calls: [{ say: "hello" }] } });
	const ran = await ws.run("hi");
	expect(ran).toMatchObject({ code: 0, stdout: "hello\n" });
	expect(ran.stderr.split("\n")[0]).toMatch(/^agent \d{8}T\d{6}Z-[0-9a-f]{8} [A-Z][a-z]+[A-Z][a-z]+$/);
	expect(ws.entries(ran.agent).map(({ file }) => file)).toEqual(["001-user.md", "002-model-a.json"]);
	expect(ws.entries(ran.agent)[0]?.text).toMatch(
		/^---\nfrom: user\ndeposited_at: \S+Z\ndeposit: [0-9a-f]{16}\n---\nhi$/,
	);
	execFileSync("flock", ["-n", "-x", ws.path("ws/inbox", ran.agent), "true"]);
	expect(readdirSync(ws.path("ws/inbox", ran.agent))).toEqual([]);
});

verifies("core-3", "a tool step is model, tool, model, and what the tool wrote rides with its result", async () => {
	const { ws, agent } = await runCalls([bash("echo side > effect")]);
	expect(ws.entries(agent).map(({ file }) => file)).toEqual([
		"001-user.md",
		"002-model-a.json",
		"003-tool.json",
		"004-model-a.json",
	]);
	const [answer, result, call] = [0, 1, 2].map((back) =>
		ws.git("diff-tree", "-r", "--name-only", "--no-commit-id", `agents/${agent}~${back}`).trim().split("\n"),
	);
	expect(result).toEqual(["effect", "messages/003-tool.json"]);
	expect([call, answer]).toEqual([["messages/002-model-a.json"], ["messages/004-model-a.json"]]);
});

verifies(
	"core-4",
	"two failed attempts and a good one are one step, three segments and one entry with its own usage",
	async () => {
		const attempts = [{ error: { status: 503 } }, { error: { kind: "transport" } }];
		const script = { calls: [{ attempts, say: "at last", usage: { input_tokens: 5, output_tokens: 2 } }] };
		const ws = await createWorkspace({ script, workflow: { retry: { base_ms: 1, jitter: 0 } } });
		const ran = await ws.run();
		expect(ran).toMatchObject({ code: 0, stdout: "at last\n" });
		const steps = readdirSync(ws.path("ws/steps", ran.agent)).filter((name) => /^\d+$/.test(name));
		expect(steps).toEqual(["001"]);
		const response = ws.read(stepFile(ran.agent, "001", "response.json"));
		expect(response.match(/^\{"type":"end"\}$/gm)).toHaveLength(3);
		expect(jsonLines(response).filter(({ type }) => type === "error")).toHaveLength(2);
		expect(ws.entries(ran.agent)).toHaveLength(2);
		expect(JSON.parse(ws.entries(ran.agent)[1]?.text ?? "")).toMatchObject({
			content: [{ type: "text", text: "at last" }],
			usage: { input_tokens: 5, output_tokens: 2 },
		});
	},
);

verifies("core-6", "a call outside the toolset is answered in band, judged by nobody and run by nothing", async () => {
	const place = createPlace();
	tickTool(place, "tick");
	const control = shellControl(place, "exit 1");
	const { ran, results } = await runCalls([{ name: "tick" }], { place, control, tools: ["bash"] });
	expect(ran.code).toBe(0);
	expect(results).toMatchObject([
		{ isError: true, text: expect.stringContaining('"tick" is not callable by a worker') },
	]);
	expect(results[0]?.text).toContain("bash");
	expect([consults(place), ticks(place)]).toEqual([[], []]);
});

verifies(
	"core-5",
	"a call that fails for good leaves the tip, is listed as failed, and a message brings the agent back",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ attempts: [{ error: { status: 400 } }], say: "back" }] } });
		const ran = await ws.run();
		expect(ran).toMatchObject({ code: 13, stdout: "" });
		expect(ran.stderr).toContain('"scripted"');
		expect(ws.entries(ran.agent)).toHaveLength(1);
		const [listed] = JSON.parse((await ws.in(["ls", "--json"])).stdout) as Record<string, unknown>[];
		expect(listed).toMatchObject({ state: "failed", last_error: { code: "MODEL_FAILED" } });
		ws.setScript({ calls: [{ say: "back" }] });
		const sent = await ws.in(["message", ran.agent, "try again"]);
		expect(sent).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("the last drive") });
	},
);
