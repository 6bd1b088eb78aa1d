import { existsSync } from "node:fs";
import { expect } from "vitest";
import { PASS, shellControl } from "../conformance/support/controls.ts";
import { createPlace, isAlive, until } from "../conformance/support/place.ts";
import { verifies } from "../conformance/support/verifies.ts";
import { createWorkspace } from "../conformance/support/workspace.ts";

verifies("crash-consult-left", "a control left by a killed driver does not outlive the next drive", async () => {
	const place = createPlace();
	// Hangs, deaf to SIGTERM, the first time it is asked; passes after that.
	const control = place.script(
		"control",
		`#!/bin/sh\ncat > /dev/null\nif [ ! -e ${place.path("pid")} ]; then\n\ttrap '' TERM\n\techo $$ > ${place.path("pid.new")}\n\tmv ${place.path("pid.new")} ${place.path("pid")}\n\twhile :; do sleep 0.1; done\nfi\necho '{"verdict":"pass"}'\n`,
	);
	const ws = await createWorkspace({
		place,
		control,
		script: { calls: [{ tools: [{ name: "bash", input: { command: "echo ran >> ran.txt" } }] }, { say: "done" }] },
	});
	const started = ws.start(["-w", ws.dir, "run", "hello"], { env: { LERNIE_SCRIPT: place.path("script.yaml") } });
	const pid = Number(await until("the control is asked", () => place.exists("pid") && place.read("pid").trim()));
	started.process.kill("SIGKILL");
	await started.ended;
	expect(isAlive(pid)).toBe(true);
	const [agent] = JSON.parse((await ws.in(["--json", "ls"])).stdout) as [{ id: string }];
	const next = await ws.advance(agent.id);
	expect(next, next.stderr).toMatchObject({ code: 0 });
	expect(isAlive(pid)).toBe(false);
	expect(ws.results(agent.id)[0]?.text).toContain("certainly not started");
});

/** A run under a control that stays, killed while the control is asked for the first time. */
const killedWhileAsked = async (asked: string) => {
	const place = createPlace();
	const first = `if [ ! -e ${place.path("pid")} ]; then\n\techo $$ > ${place.path("pid.new")}\n\tmv ${place.path("pid.new")} ${place.path("pid")}\n\t${asked}\nfi`;
	const control = shellControl(place, `${first}\nsay '${PASS}'`, "control", "serve");
	const ws = await createWorkspace({
		place,
		control,
		controlOptions: { mode: "serve" },
		script: { calls: [{ tools: [{ name: "bash", input: { command: "echo ran >> ran.txt" } }] }, { say: "done" }] },
	});
	const started = ws.start(["-w", ws.dir, "run", "hello"], { env: { LERNIE_SCRIPT: place.path("script.yaml") } });
	const pid = Number(await until("the control is asked", () => place.exists("pid") && place.read("pid").trim()));
	started.process.kill("SIGKILL");
	await started.ended;
	const [agent] = JSON.parse((await ws.in(["--json", "ls"])).stdout) as [{ id: string }];
	return { ws, pid, agent: agent.id };
};

verifies(
	"crash-serve-left",
	"a control that stayed and does not heed the death of its driver is ended by the next",
	async () => {
		const { ws, pid, agent } = await killedWhileAsked("trap '' TERM; while :; do sleep 0.1; done");
		expect(isAlive(pid)).toBe(true);
		const next = await ws.advance(agent);
		expect(next, next.stderr).toMatchObject({ code: 0 });
		expect(isAlive(pid)).toBe(false);
		expect(ws.results(agent)[0]?.text).toContain("certainly not started");
		expect(existsSync(ws.path("ws/steps", agent, "running", `${pid}.json`))).toBe(false);
	},
);

verifies("crash-serve-eof", "a control that stayed sees the end of its stdin when its driver is killed", async () => {
	const { ws, pid, agent } = await killedWhileAsked("cat > /dev/null; exit 0");
	await until("the control to end by itself", () => !isAlive(pid));
	const next = await ws.advance(agent);
	expect(next, next.stderr).toMatchObject({ code: 0 });
	expect(existsSync(ws.path("ws/steps", agent, "running", `${pid}.json`))).toBe(false);
});
