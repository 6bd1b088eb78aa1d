import { expect } from "vitest";
import { until } from "../support/place.ts";
import { bash, jsonLines, scriptPast } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const state = async (ws: Workspace): Promise<unknown> => JSON.parse((await ws.in(["ls", "--json"])).stdout)[0]?.state;
const lastRecord = (ws: Workspace, agent: string) => jsonLines(ws.read(`ws/steps/${agent}/driver.log`)).at(-1);

verifies(
	"contract-limit-steps",
	"--max-steps ends a drive with 12, and a person's message starts a new count",
	async () => {
		const ws = await createWorkspace({ script: scriptPast("repeat", [{ tools: [bash("true")] }]) });
		const ran = await ws.run("hi", { flags: ["--max-steps", "2"] });
		expect(ran).toMatchObject({ code: 12, stdout: "" });
		expect(ran.stderr).toContain("LIMIT");
		expect(ws.entries(ran.agent)).toHaveLength(5);
		expect(await state(ws)).toBe("limit");
		expect(lastRecord(ws, ran.agent)).toMatchObject({ code: "LIMIT", exit: 12, tip: ws.tip(ran.agent) });
		expect((await ws.advance(ran.agent)).code).toBe(12);
		expect(ws.entries(ran.agent)).toHaveLength(5);
		expect((await ws.in(["message", ran.agent, "go on"])).code).toBe(0);
		await until("two more calls", async () => ws.entries(ran.agent).length === 10 && (await state(ws)) === "limit");
		expect(lastRecord(ws, ran.agent)).toMatchObject({ code: "LIMIT", exit: 12, tip: ws.tip(ran.agent) });
	},
);

verifies(
	"contract-limit-steps",
	"`unlimited` written out wins over the configuration, which wins over the shipped limit",
	async () => {
		const calls = [{ tools: [bash("true")] }, { tools: [bash("true")] }, { say: "done" }];
		const ws = await createWorkspace({ script: { calls }, workflow: { limits: { steps: 1 } } });
		expect(await ws.run()).toMatchObject({
			code: 12,
			stderr: expect.stringContaining("1 model calls a message, 240 minutes"),
		});
		const free = await ws.run("hi", { flags: ["--max-steps", "unlimited"] });
		expect(free).toMatchObject({ code: 0, stderr: expect.stringContaining("unlimited model calls a message") });
	},
);

verifies("contract-limit-minutes", "a drive that used up its minutes makes no further call", async () => {
	const ws = await createWorkspace({ script: { calls: [{ say: "never" }] }, workflow: { limits: { minutes: 1e-6 } } });
	const ran = await ws.run();
	expect(ran).toMatchObject({ code: 12, stdout: "", stderr: expect.stringContaining("minutes") });
	expect(ws.entries(ran.agent)).toHaveLength(1);
	expect(await state(ws)).toBe("limit");
});
