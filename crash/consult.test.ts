import { expect } from "vitest";
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
