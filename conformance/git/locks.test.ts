import { utimesSync } from "node:fs";
import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

verifies(
	"contract-stale-locks",
	"lock files that a killed git left are removed by the next drive, which says so",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ attempts: [{ error: { status: 400 } }], say: "done" }] } });
		const { agent } = await ws.run();
		ws.setScript({ calls: [{ say: "done" }] });
		const locks = [`refs/heads/agents/${agent}.lock`, `refs/lernie/owner/${agent}.lock`, "packed-refs.lock"];
		const old = new Date(Date.now() - 60_000);
		for (const lock of locks) utimesSync(ws.write(`ws/repo.git/${lock}`, ""), old, old);
		const foreign = ws.write("ws/repo.git/refs/heads/config/default.lock", "");
		utimesSync(foreign, old, old);
		const ran = await ws.advance(agent);
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		for (const lock of locks) {
			expect(ran.stderr).toContain(lock);
			expect(ws.exists(`ws/repo.git/${lock}`)).toBe(false);
		}
		expect(ws.exists("ws/repo.git/refs/heads/config/default.lock")).toBe(true);
		expect(ws.entries(agent).at(-1)?.file).toBe("002-model-a.json");
	},
);
