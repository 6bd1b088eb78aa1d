import { mkdirSync } from "node:fs";
import { expect } from "vitest";
import { createPlace } from "../support/place.ts";
import { scriptPast } from "../support/scenario.ts";
import { everything } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

verifies(
	"contract-new",
	"`new` prints the absolute path; into an empty directory is fine, without a path it is under the data root",
	async () => {
		const place = createPlace();
		const env = { LERNIE_SCRIPT: place.write("script.yaml", "calls: []\n") };
		mkdirSync(place.path("empty"));
		expect(await place.lernie(["new", "empty"], { env })).toMatchObject({
			code: 0,
			stdout: `${place.path("empty")}\n`,
		});
		const ran = await place.lernie(["new"], { env });
		expect(ran.code).toBe(0);
		expect(ran.stdout).toMatch(new RegExp(`^${place.home}/workspaces/[0-9a-f]+\n$`));
		const json = await place.lernie(["--json", "new", "third"], { env });
		expect(JSON.parse(json.stdout)).toEqual({ workspace: place.path("third") });
	},
);

verifies(
	"contract-new-refused",
	"`new` without a model, or where something lies, is refused with 3 and creates nothing",
	async () => {
		const place = createPlace();
		place.write("full/file", "mine");
		place.write("file", "mine");
		const before = everything(place.root);
		const env = { LERNIE_SCRIPT: place.path("script.yaml") };
		const none = await place.lernie(["new", "ws"]);
		expect(none).toMatchObject({
			code: 3,
			stdout: "",
			stderr: expect.stringMatching(/no model is chosen.*--model.*LERNIE_SCRIPT/),
		});
		expect(await place.lernie(["new"])).toMatchObject({ code: 3, stdout: "" });
		for (const path of ["full", "file"])
			expect(await place.lernie(["new", path], { env })).toMatchObject({ code: 3, stdout: "" });
		const inside = place.path("deep/ws/agents/control");
		expect(await place.lernie(["new", "deep/ws", "--control", inside], { env })).toMatchObject({ code: 3, stdout: "" });
		expect(everything(place.root)).toEqual(before);
	},
);

verifies(
	"contract-config-show",
	"`config show` is everything in effect, with the defaults marked, and reads back",
	async () => {
		const ws = await createWorkspace({ script: { calls: [] }, workflow: { limits: { steps: 7 } } });
		const { code, stdout } = await ws.in(["config", "show"]);
		expect(code).toBe(0);
		expect(stdout).toContain(ws.git("rev-parse", "config/default").trim());
		expect(stdout).toMatch(/^ {2}steps: 7$/m);
		expect(stdout).toMatch(/^ {2}minutes: 240 # default$/m);
		expect(stdout).toMatch(/^ {2}head_bytes: 16384 # default$/m);
		const json = JSON.parse((await ws.in(["config", "show", "default", "--json"])).stdout) as { yaml: string };
		expect(json).toMatchObject({ name: "default", commit: expect.stringMatching(/^[0-9a-f]{40}$/) });
		expect(json.yaml).toContain("max_attempts: 5");
	},
);

verifies("contract-config-check", "`config check` loads every configuration as a drive would", async () => {
	const ws = await createWorkspace({ script: { calls: [] } });
	const ran = await ws.in(["config", "check"]);
	expect(ran).toMatchObject({ code: 0, stdout: expect.stringMatching(/^config\/default [0-9a-f]{12} loads\n$/) });
	const unset = await ws.lernie(["-w", ws.dir, "config", "check"]);
	expect(unset).toMatchObject({ code: 3, stderr: expect.stringContaining("LERNIE_SCRIPT") });
});

verifies(
	"contract-doctor-inbox",
	"an inbox without an agent is named by doctor and ignored by everything else",
	async () => {
		const ws = await createWorkspace({ script: scriptPast("end", [{ say: "done" }]) });
		const killed = await ws.run("hi", { env: { LERNIE_CRASH_AT: "found.objects" } });
		expect(killed.signal).toBe("SIGKILL");
		expect(await ws.in(["ls", "--json"])).toMatchObject({ code: 0, stdout: "[]\n" });
		const { inboxes_without_agent: lost } = JSON.parse((await ws.in(["doctor", "--json"])).stdout) as {
			inboxes_without_agent: { id: string; messages: number }[];
		};
		expect(lost).toMatchObject([{ messages: 1 }]);
		expect((await ws.in(["doctor"])).stdout).toContain(`inbox/${lost[0]?.id}: no agent of that id`);
		expect((await ws.run()).code).toBe(0);
		expect(JSON.parse((await ws.in(["ls", "--json"])).stdout)).toHaveLength(1);
	},
);

verifies(
	"contract-scripted-row",
	"a row named scripted in models.yaml beats LERNIE_SCRIPT, and starts at the file's directory",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ say: "from the variable" }] } });
		ws.write("home/models.yaml", "providers:\n  scripted: {adapter: scripted, script: own.yaml}\n");
		ws.write("home/own.yaml", "calls: [{say: from the row}]\n");
		expect(await ws.run()).toMatchObject({ code: 0, stdout: "from the row\n" });
	},
);

verifies(
	"contract-control-place",
	"a control where the agent works is refused when it is founded and at each drive",
	async () => {
		const place = createPlace();
		const control = place.script("project/control", "#!/bin/sh\n");
		const ws = await createWorkspace({ place, control, script: { calls: [{ say: "done" }] } });
		const before = everything(place.path("ws"));
		for (const flags of [
			["--cwd", place.path("project")],
			["--cwd", place.root],
		])
			expect(await ws.run("hi", { flags })).toMatchObject({
				code: 3,
				stderr: expect.stringContaining("where an agent works"),
			});
		const here = await ws.in(["run", "--here", "hi"], { cwd: place.path("project") });
		expect(here).toMatchObject({ code: 3, stdout: "" });
		expect(everything(place.path("ws"))).toEqual(before);
		mkdirSync(place.path("other"));
		ws.setScript({ calls: [{ attempts: [{ error: { status: 400 } }], say: "never" }] });
		const { agent, code } = await ws.run("hi", { flags: ["--cwd", place.path("other")] });
		expect(code).toBe(13);
		ws.reconfigure(agent, { control: place.script("other/control", "#!/bin/sh\n") });
		expect(await ws.advance(agent)).toMatchObject({ code: 3, stderr: expect.stringContaining("where an agent works") });
	},
);
