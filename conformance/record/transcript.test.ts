import { expect } from "vitest";
import { until } from "../support/place.ts";
import { jsonLines, runCalls, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";

verifies(
	"contract-blocks",
	"entries 1 to 255 lie flat, from 256 on each in its block, and the order goes on",
	async () => {
		// Calls outside the toolset: a commit each, and nothing that runs.
		const calls = Array.from({ length: 252 }, (_, at) => ({ name: "frob", id: `c${at}` }));
		const after = [{ tools: [{ name: "frob", id: "last" }] }, { say: "first" }, { say: "second" }];
		const { ran, agent, ws } = await runCalls(calls, { after });
		expect(ran.code).toBe(0);
		const names = ws.git("ls-tree", "-r", "--name-only", `agents/${agent}`, "messages/").trim().split("\n");
		expect(names.slice(-4)).toEqual([
			"messages/254-tool.json",
			"messages/255-model-a.json",
			"messages/256/256-tool.json",
			"messages/256/257-model-a.json",
		]);
		expect((await ws.in(["message", agent, "and now?"])).code).toBe(0);
		await until("the message to be answered", () => ws.entries(agent).length === 259);
		const numbers = ws.entries(agent).map(({ number }) => number);
		expect(numbers).toEqual(Array.from({ length: 259 }, (_, at) => at + 1));
		expect(ws.git("ls-tree", "--name-only", `agents/${agent}:messages/256`).trim().split("\n")).toEqual([
			"256-tool.json",
			"257-model-a.json",
			"258-user.md",
			"259-model-a.json",
		]);
		const logged = jsonLines((await ws.in(["--json", "log", agent])).stdout).map(({ number }) => number);
		expect(logged).toEqual(numbers);
		const request = JSON.parse(ws.read(stepFile(agent, "003", "request.json"))) as { messages: { role: string }[] };
		expect(request.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool"]);
		const last = JSON.parse(ws.read(stepFile(agent, "004", "request.json"))) as { messages: { content: unknown[] }[] };
		expect(last.messages.map(({ content }) => content.length)).toEqual([1, 252, 252, 1, 1, 1, 1]);
	},
);
