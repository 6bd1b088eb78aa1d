import { readdirSync } from "node:fs";
import { expect } from "vitest";
import { listAgents } from "../support/listing.ts";
import { pauseAt } from "../support/paused.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const traces = (ws: Workspace): readonly (readonly string[])[] =>
	["inbox", "agents", "steps"].map((directory) => readdirSync(ws.path("ws", directory)).sort());

verifies("core-names", "of several founders that want one name at once one gets it", async () => {
	const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
	const founded: string[] = [];
	for (let round = 0; round < 6; round += 1) {
		const name = `round-${round}`;
		const ran = await Promise.all([1, 2, 3].map(() => ws.run("hello", { flags: ["--name", name] })));
		expect(ran.map(({ code }) => code).sort(), ran.map(({ stderr }) => stderr).join("\n")).toEqual([0, 3, 3]);
		for (const { code, agent, stderr, stdout } of ran)
			if (code === 0) founded.push(agent);
			else
				expect({ agent, stdout, stderr }).toEqual({
					agent: "",
					stdout: "",
					stderr: expect.stringContaining(`"${name}"`),
				});
	}
	const ids = [...founded].sort();
	expect((await listAgents(ws)).map(({ id }) => id)).toEqual(ids);
	expect(traces(ws)).toEqual([ids, ids, ids]);
});

verifies("core-founding-lock", "a founder that stands still is waited for, then the others are refused", async () => {
	const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
	const frozen = await pauseAt(ws, "found.objects", ["run", "--name", "frozen", "hello"]);
	const before = [ws.git("for-each-ref"), traces(ws)];
	const refused = await ws.run("hello", { flags: ["--name", "other"] });
	expect(refused).toMatchObject({ code: 3, stdout: "", stderr: expect.stringContaining("may be suspended") });
	expect([ws.git("for-each-ref"), traces(ws)]).toEqual(before);
	// Who waits when it goes on gets his turn.
	const waiting = ws.run("hello", { flags: ["--name", "frozen"] });
	expect((await frozen.resume()).code).toBe(0);
	expect(await waiting).toMatchObject({ code: 3, stderr: expect.stringContaining('"frozen"') });
	expect((await ws.run("hello", { flags: ["--name", "other"] })).code).toBe(0);
});

verifies("core-founding-lock", "a founder that was killed keeps nobody from founding, nor its name", async () => {
	const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
	const killed = await ws.run("hello", { flags: ["--name", "wanted"], env: { LERNIE_CRASH_AT: "found.objects" } });
	expect(killed.signal).toBe("SIGKILL");
	expect((await ws.run("hello", { flags: ["--name", "wanted"] })).code).toBe(0);
});
