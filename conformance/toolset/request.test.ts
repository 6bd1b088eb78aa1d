import { expect } from "vitest";
import { createPlace } from "../support/place.ts";
import { bash, runCalls, scriptPast, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

interface Request {
	readonly system: unknown;
	readonly messages: readonly { readonly role: string; readonly content: readonly Record<string, unknown>[] }[];
	readonly tools: readonly Record<string, unknown>[];
}

const request = (ws: Workspace, agent: string, step: string): Request =>
	JSON.parse(ws.read(stepFile(agent, step, "request.json"))) as Request;

verifies("tools-186", "the tools of a request are the granted ones in declared order", async () => {
	const { agent, ws } = await runCalls([], { tools: ["read_file", "bash"], after: [] });
	expect(request(ws, agent, "001").tools.map(({ name }) => name)).toEqual(["read_file", "bash"]);
});

verifies(
	["tools-187", "tools-188"],
	"every tool the history names is declared once: a granted one as it is, another as any object",
	async () => {
		const place = createPlace();
		place.tool("own", "#!/bin/sh\n", '{ "type": "object", "x": 1.0 }');
		const calls = [bash("true"), bash("true"), { name: "frobnicate" }, { name: "own" }, { name: "frobnicate" }];
		const { agent, ws } = await runCalls(calls, { place, tools: ["bash", "own"] });
		const { tools } = request(ws, agent, "002");
		expect(tools.map(({ name }) => name)).toEqual(["bash", "own", "frobnicate"]);
		expect(tools[2]).toEqual({ name: "frobnicate", input_schema: { type: "object" } });
		expect(tools[0]).toHaveProperty("description");
		expect(ws.read(stepFile(agent, "002", "request.json"))).toContain('"input_schema":{"type":"object","x":1.0}');
	},
);

verifies("tools-190", "a tool without a skill has no description, one with a skill has the skill's", async () => {
	const place = createPlace();
	for (const name of ["bare", "told"]) place.tool(name, "#!/bin/sh\n", '{"type":"object","properties":{}}');
	place.write("home/skills/told/SKILL.md", "---\nname: told\ndescription: What it does.\n---\nmore\n");
	const { agent, ws } = await runCalls([], { place, tools: ["bare", "told"], after: [] });
	const input_schema = { type: "object", properties: {} };
	expect(request(ws, agent, "001").tools).toEqual([
		{ name: "bare", input_schema },
		{ name: "told", description: "What it does.", input_schema },
	]);
});

verifies(
	["tools-189", "tools-190"],
	"a malformed schema or skill of the pool refuses the workspace, naming the file",
	async () => {
		const broken = { "tools/own.json": "{", "skills/own/SKILL.md": "no head\n" };
		for (const [path, body] of Object.entries(broken)) {
			const place = createPlace();
			place.tool("own", "#!/bin/sh\n");
			place.write(`home/${path}`, body);
			const args = ["new", place.path("ws"), "--model", "scripted/m", "--control", "none"];
			expect(await place.lernie(args)).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining(path) });
			expect(place.exists("ws")).toBe(false);
		}
	},
);

verifies("tools-230", "results that follow one another are one message of role tool", async () => {
	const { agent, ws } = await runCalls([bash("echo 1"), { ...bash("echo 2"), id: "b" }]);
	const { messages } = request(ws, agent, "002");
	expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
	expect(messages[2]?.content).toMatchObject([
		{ type: "tool_result", tool_use_id: "call_1" },
		{ type: "tool_result", tool_use_id: "b" },
	]);
});

verifies(
	"contract-system-slot",
	"the system slot is the goal, the name, and the instructions of the role",
	async () => {
		const script = scriptPast("end", [{ say: "done" }]);
		const ws = await createWorkspace({ script, role: { instructions: "Be brief." } });
		const { agent } = await ws.run("Fix it.", { flags: ["--name", "Fixer"] });
		const { system, messages } = request(ws, agent, "001");
		expect(JSON.stringify(system)).toContain(
			JSON.stringify("<goal>\nFix it.\n</goal>\n\nYour name is Fixer.\n\nBe brief.").slice(1, -1),
		);
		expect(messages[0]?.content[0]?.text).toBe(ws.entries(agent)[0]?.text);
	},
);
