import { chmodSync, renameSync, rmSync } from "node:fs";
import { expect } from "vitest";
import { answer, attemptsOf, createSending, failure, writeModels } from "../support/model.ts";
import { createPlace, until } from "../support/place.ts";
import { jsonLines } from "../support/scenario.ts";
import { everything } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import { stateOf } from "../support/window.ts";
import { createWorkspace } from "../support/workspace.ts";

verifies(
	"model-command-row",
	"`row` is what the program is told; one adapter for every row is told the role's, but the built-in row stays",
	async () => {
		const ws = await createSending([answer("one"), answer("two"), answer("three")], { row: { row: "acme eu" } });
		ws.write("home/bin/.keep", "");
		expect((await ws.run()).code).toBe(0);
		renameSync(ws.path("model/program"), ws.path("home/bin/model"));
		writeModels(ws, { own: { adapter: "command", command: "bin/model" } });
		expect((await ws.run()).code).toBe(0);
		ws.write("home/models.yaml", "adapter: bin/model\n");
		expect((await ws.run("hi", { flags: ["--model", "anything/m"] })).code).toBe(0);
		expect(attemptsOf(ws).map(({ args }) => args[2])).toEqual(["acme eu", "own", "anything"]);
		ws.setScript({ calls: [{ say: "from the script" }] });
		expect(await ws.run("hi", { flags: ["--model", "scripted/m"] })).toMatchObject({ stdout: "from the script\n" });
		expect(attemptsOf(ws)).toHaveLength(3);
		const created = await ws.lernie(["new", ws.path("other"), "--model", "anything/m", "--control", "none"]);
		expect(created, created.stderr).toMatchObject({ code: 0 });
	},
);

verifies(
	["tools-225", "model-command-missing"],
	"a program that is not there or not executable is refused before anything exists, and nothing is looked for on PATH",
	async () => {
		const place = createPlace();
		const bin = place.path("bin");
		place.script("bin/bz", `#!/bin/sh\ntouch ${place.path("probed")}\n`);
		const ws = await createSending([answer("done")], { place });
		const [program, before] = [ws.path("model/program"), everything(ws.dir)];
		chmodSync(program, 0o644);
		const path = { env: { PATH: `${bin}:${ws.env.PATH}` } };
		const refused = async (why: string): Promise<void> => {
			const ran = await ws.run("hi", path);
			expect.soft(ran, why).toMatchObject({ code: 3, stdout: "", agent: "" });
			expect.soft(ran.stderr).toContain(`model row "own": `);
			expect.soft(ran.stderr).toContain(`cannot be started: ${why}`);
			expect.soft(await ws.in(["config", "check"], path)).toMatchObject({ code: 3, stdout: "" });
		};
		await refused("not an executable file");
		rmSync(program);
		await refused("no such file");
		writeModels(ws, { own: { adapter: "command", command: "bz" } });
		await refused("no such file");
		ws.write("home/models.yaml", "");
		expect(await ws.run("hi", path)).toMatchObject({
			code: 3,
			stderr: expect.stringContaining("the rows are scripted"),
		});
		expect(everything(ws.dir)).toEqual(before);
		expect(ws.exists("probed")).toBe(false);
	},
);

verifies(
	"model-command-missing",
	"a program that goes missing later fails the call with 13, and nothing else",
	async () => {
		const ws = await createSending([answer("one"), answer("two")]);
		const { agent } = await ws.run();
		const tip = ws.tip(agent);
		renameSync(ws.path("model/program"), ws.path("model/moved"));
		expect(await ws.in(["message", agent, "and then"])).toMatchObject({ code: 0 });
		await until("the drive that the message woke has failed", async () => (await stateOf(ws, agent)) === "failed");
		const ran = await ws.advance(agent, { flags: ["--json"] });
		expect(ran.code).toBe(13);
		const { error } = jsonLines(ran.stdout).at(-1) as { error: { code: string; message: string; data: object } };
		expect(error).toMatchObject({ code: "MODEL_COMMAND", data: { row: "own", program: ws.path("model/program") } });
		expect(error.message).toContain("no such file");
		expect(ws.entries(agent)).toHaveLength(3);
		expect(ws.git("rev-list", "--count", `${tip}..agents/${agent}`).trim()).toBe("1");
		renameSync(ws.path("model/moved"), ws.path("model/program"));
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ws.entries(agent)).toHaveLength(4);
	},
);

verifies("model-command-auth", "a refused key says where the key of this program goes", async () => {
	const ws = await createSending([failure("auth"), failure({ provider: { status: 401 } })]);
	const { agent, ...ran } = await ws.run();
	for (const { code, stderr } of [ran, await ws.advance(agent)]) {
		expect(code).toBe(13);
		expect(stderr).toContain(`give ${ws.path("model/program")} its key`);
		expect(stderr).toContain("`env` of the row names in models.yaml");
	}
});

verifies(
	"model-command-failed",
	"a call that came back with an error is listed as failed, however the program spaces its lines",
	async () => {
		const sent = [
			'{ "v": 1, "type": "message_start" }',
			'{"kind": "transport", "type": "error", "message": "m"}',
			'{ "type": "end" }',
		];
		const ws = await createSending([`${sent.join("\n")}\n`], { workflow: { retry: { base_ms: 60_000 } } });
		const started = ws.start(["-w", ws.dir, "--json", "run", "hi"]);
		const events = () => jsonLines(started.output().stdout);
		await until("the next attempt is waited for", () => events().some(({ type }) => type === "retry"));
		started.process.kill("SIGKILL");
		await started.ended;
		expect(await stateOf(ws, String(events()[0]?.id))).toBe("failed");
	},
);

verifies("model-command-config", "config show names what answers for each role", async () => {
	const ws = await createSending([]);
	const shown = await ws.in(["config", "show"]);
	expect(shown.stdout).toContain(`provider: own # runs ${ws.path("model/program")} --provider own`);
	expect(await ws.in(["config", "check"])).toMatchObject({ code: 0 });
	expect((await ws.in(["doctor"])).code).toBe(0);
	ws.write("home/models.yaml", "");
	expect((await ws.in(["config", "show"])).stdout).toContain("provider: own # there is no such row on this machine");
	ws.write("home/models.yaml", "providers: {own: {adapter: command, comand: x}}\n");
	for (const verb of ["show", "check"])
		expect(await ws.in(["config", verb])).toMatchObject({
			code: 3,
			stderr: expect.stringContaining('models.yaml:1:37: providers.own.comand: unknown key. did you mean "command"?'),
		});
});

verifies(
	"model-command-config",
	"a role that another machine's row plays is refused here, naming the rows",
	async () => {
		const ws = await createWorkspace({ script: { calls: [] }, role: { provider: "elsewhere" } });
		writeModels(ws, { own: { adapter: "command", command: "/bin/true" } });
		expect(await ws.run()).toMatchObject({ code: 3, stderr: expect.stringContaining("the rows are own, scripted") });
	},
);
