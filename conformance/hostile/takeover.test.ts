import { mkdirSync, renameSync } from "node:fs";
import { expect } from "vitest";
import { shellControl, ticks, tickTool } from "../support/controls.ts";
import { pauseAt } from "../support/paused.ts";
import { createPlace } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const onlyAgent = async (ws: Workspace): Promise<string> => {
	const [agent] = JSON.parse((await ws.in(["--json", "ls"])).stdout) as [{ id: string }];
	return agent.id;
};

/** Somebody replaces the inbox, and with it the lease: the paused driver has lost its agent without knowing. */
const replaceInbox = (ws: Workspace, agent: string): void => {
	renameSync(ws.path("ws/inbox", agent), ws.path("inbox.old"));
	mkdirSync(ws.path("ws/inbox", agent));
};

verifies("hostile-takeover-start", "the driver that lost its agent starts nothing more", async () => {
	for (const site of ["entry.ref", "consult.answered", "tool.input"]) {
		const place = createPlace();
		tickTool(place, "tick");
		const ws = await createWorkspace({
			place,
			tools: ["tick"],
			control: shellControl(place, `echo '{"verdict":"pass"}'`),
			script: { calls: [{ tools: [{ id: "first", name: "tick", input: {} }] }, { say: "done" }] },
		});
		const old = await pauseAt(ws, site, ["run", "hello"]);
		const agent = await onlyAgent(ws);
		replaceInbox(ws, agent);
		const next = await ws.advance(agent);
		expect(next, next.stderr).toMatchObject({ code: 0 });
		const ended = await old.resume();
		expect(ended.code, `${site}: ${ended.stderr}`).toBe(1);
		expect(ended.stderr).toContain("another process took it over");
		expect(ticks(ws), site).toEqual([]);
		expect(ws.results(agent)).toHaveLength(1);
	}
});

verifies("hostile-takeover-mail", "the driver that lost its agent removes no message but its own", async () => {
	const place = createPlace();
	const ws = await createWorkspace({
		place,
		control: shellControl(place, `echo '{"verdict":"hold","reason":"wait"}'`),
		script: { calls: [{ tools: [{ name: "bash", input: { command: "true" } }] }] },
	});
	const old = await pauseAt(ws, "delivery.committed", ["run", "hello"]);
	const agent = await onlyAgent(ws);
	replaceInbox(ws, agent);
	expect((await ws.advance(agent)).code).toBe(10);
	expect((await ws.in(["message", agent, "IMPORTANT"])).code).toBe(0);
	expect(ws.exists(`ws/inbox/${agent}/user-001.md`)).toBe(true);
	expect((await old.resume()).code).toBe(1);
	expect(ws.read(`ws/inbox/${agent}/user-001.md`)).toContain("IMPORTANT");
});
