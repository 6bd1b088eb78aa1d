import { expect } from "vitest";
import { scriptPast } from "../support/scenario.ts";
import { everything } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

const ESCAPING = ["../x", "..", ".", "a/b", "/etc", "a\\b", "", "nul/../../x"];

verifies(
	"core-16",
	"an id that leads out of its place is refused by every verb with 3, and nothing is created",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
		await ws.run();
		const before = everything(ws.root);
		const commands = [
			...ESCAPING.map((id) => ["log", id]),
			...["../x", ".."].flatMap((id) => [
				["message", id, "hi"],
				["advance", id],
				["advance", "--hop", id],
			]),
			...["../x", "x.lock", "a b"].flatMap((name) => [
				["run", "--config", name, "hi"],
				["config", "show", name],
			]),
			["config", "check", "../x"],
			...["../x", ".", "", "a b", "20250101T000000Z-x", "x".repeat(101)].map((name) => ["run", "--name", name, "hi"]),
		];
		for (const args of commands) {
			const { code, stdout } = await ws.in(args);
			expect.soft({ args, code, stdout }).toEqual({ args, code: 3, stdout: "" });
		}
		expect(everything(ws.root)).toEqual(before);
	},
);

verifies(
	"contract-addresses",
	"an agent is found by id, name, or a prefix of four characters that fits only it",
	async () => {
		const ws = await createWorkspace({ script: scriptPast("end", [{ say: "done" }]) });
		const one = await ws.run("hi", { flags: ["--name", "fix-login"], env: { LERNIE_NOW: "2025-01-01T00:00:00Z" } });
		const two = await ws.run("hi", { env: { LERNIE_NOW: "2025-01-01T00:00:00Z" } });
		const three = await ws.run("hi", { env: { LERNIE_NOW: "2031-01-01T00:00:00Z" } });
		const found = async (address: string): Promise<string> =>
			(await ws.in(["log", address])).stdout.split("\n")[0]?.split(" ")[1] ?? "";
		expect(await found(one.agent)).toBe(one.agent);
		expect(await found("fix-login")).toBe(one.agent);
		expect(await found("2031")).toBe(three.agent);
		expect(await found(two.agent.slice(0, -1))).toBe(two.agent);
		for (const address of ["203", "fix-log", "fix", "9999"])
			expect.soft((await ws.in(["log", address])).code, address).toBe(3);
		const several = await ws.in(["advance", "2025", "--json"]);
		expect(several.code).toBe(3);
		expect(several.stderr).toContain(one.agent);
		expect(several.stderr).toContain(two.agent);
		expect(JSON.parse(several.stdout)).toMatchObject({
			error: { code: "ADDRESS", data: { ids: [one.agent, two.agent].sort() } },
		});
		const taken = await ws.in(["run", "--name", "fix-login", "hi"]);
		expect(taken).toMatchObject({ code: 3, stderr: expect.stringContaining("another agent has it") });
		expect(JSON.parse((await ws.in(["ls", "--json"])).stdout)).toHaveLength(3);
	},
);
