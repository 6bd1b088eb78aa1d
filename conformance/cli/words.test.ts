import { execFileSync } from "node:child_process";
import { expect } from "vitest";
import { shellControl } from "../support/controls.ts";
import { createPlace, until } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const only = async (ws: Workspace): Promise<{ state: string; last_error: { code: string } | null }> => {
	const [agent] = JSON.parse((await ws.in(["--json", "ls"])).stdout) as [
		{ state: string; last_error: { code: string } },
	];
	return agent;
};

verifies(
	"contract-detached-failure",
	"a drive that failed in the background is listed as failed, and why",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ say: "one" }] } });
		const { agent } = await ws.run();
		expect(await ws.in(["message", agent, "more"])).toMatchObject({ code: 0, stdout: "" });
		const failed = await until("the drive fails", async () => {
			const found = await only(ws);
			return found.state === "failed" && found;
		});
		expect(failed.last_error?.code).toBe("MODEL_ENDED");
		ws.setScript({ calls: [{ say: "one" }, { say: "two" }] });
		expect((await ws.advance(agent)).code).toBe(0);
		expect(await only(ws)).toMatchObject({ state: "done", last_error: null });
	},
);

verifies("contract-pasted-commands", "what held prints can be pasted into a shell, whatever the path", async () => {
	const place = createPlace();
	const control = shellControl(
		place,
		`[ -e "$LERNIE_CONV_REPO/yes" ] && echo '{"verdict":"pass"}' || echo '{"verdict":"hold","reason":"wait"}'`,
	);
	place.write("home/template/providers.yaml", "roles: {worker: {provider: scripted, model: m, tools: [bash]}}\n");
	place.write("script.yaml", "calls: [{tools: [{name: bash, input: {command: 'true'}}]}, {say: done}]\n");
	const env = { LERNIE_SCRIPT: place.path("script.yaml") };
	const dir = place.path(`a "b" it's`);
	expect((await place.lernie(["new", dir, "--control", control], { env })).code).toBe(0);
	expect((await place.lernie(["-w", dir, "run", "hi"], { env })).code).toBe(10);
	const held = (await place.lernie(["-w", dir, "held"], { env })).stdout;
	const command = /lernie -w .*$/m.exec(held)?.[0] ?? "";
	const words = execFileSync("sh", ["-c", `lernie() { printf '%s\\n' "$@"; }; ${command}`], { encoding: "utf8" });
	expect(words.split("\n").slice(0, 3)).toEqual(["-w", dir, "advance"]);
});

verifies(
	"contract-check-tools",
	"config check refuses a tool that nothing describes, naming the configuration",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
		const { agent } = await ws.run();
		ws.reconfigure(agent, { tools: ["bash", "reed_file"] });
		expect(await ws.in(["config", "check"], { env: { LERNIE_SCRIPT: "" } })).toMatchObject({
			code: 3,
			stderr: expect.stringMatching(/config\/default: .*reed_file/),
		});
	},
);

verifies(
	"contract-new-choices",
	"new refuses a control or a model row that is not there, and creates nothing",
	async () => {
		const place = createPlace();
		const env = { LERNIE_SCRIPT: place.write("script.yaml", "calls: []\n") };
		place.write("plain", "not a program");
		for (const flags of [
			["--control", "/nosuch/control"],
			["--control", place.path("plain")],
			["--model", "nosuch/x"],
		]) {
			const refused = await place.lernie(["new", place.path("ws"), ...flags], { env });
			expect(refused, refused.stderr).toMatchObject({ code: 3, stdout: "" });
			expect(place.exists("ws")).toBe(false);
		}
	},
);

verifies("contract-log-which", "log without a name asks which agent is meant", async () => {
	const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
	await ws.run();
	expect((await ws.in(["log"])).code).toBe(0);
	await ws.run();
	expect(await ws.in(["log"])).toMatchObject({ code: 3, stderr: expect.stringContaining("2 agents: name one") });
});

verifies("contract-advance-words", "advance shows the agent's words on stderr and keeps stdout empty", async () => {
	const ws = await createWorkspace({ script: { calls: [{ attempts: [{ error: { status: 400 } }], say: "at last" }] } });
	const { agent } = await ws.run();
	ws.setScript({ calls: [{ say: "at last" }] });
	expect(await ws.advance(agent)).toMatchObject({ code: 0, stdout: "", stderr: expect.stringContaining("at last") });
});
