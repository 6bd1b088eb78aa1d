import { writeFileSync } from "node:fs";
import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

verifies("contract-held-damaged", "an agent whose record is damaged does not hide what others hold", async () => {
	const calls = [{ tools: [{ name: "bash", input: { command: "make" } }] }];
	const ws = await createWorkspace({ script: { calls }, control: "/bin/false" });
	const agents = [(await ws.run("one")).agent, (await ws.run("two")).agent];
	writeFileSync(ws.path("ws/repo.git/refs/lernie/held", agents[0] ?? ""), `${"1".repeat(40)}\n`);
	const listed = await ws.in(["held", "--json"]);
	expect(listed.code).toBe(0);
	expect((JSON.parse(listed.stdout) as { agent: string }[]).map(({ agent }) => agent)).toEqual([agents[1]]);
	expect(listed.stderr).toContain(`${agents[0]} is left out, its record cannot be read: `);
	ws.git("update-ref", "-d", `refs/lernie/held/${agents[0]}`);
});
