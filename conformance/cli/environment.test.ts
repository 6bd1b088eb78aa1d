import { mkdirSync, realpathSync } from "node:fs";
import { expect } from "vitest";
import { createPlace, until } from "../support/place.ts";
import { atRest, bash, runCalls } from "../support/scenario.ts";
import { everything } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

verifies(
	"contract-relative-paths",
	"relative LERNIE_SCRIPT and LERNIE_HOME mean the same to a drive that was started in the background",
	async () => {
		const place = createPlace();
		place.tool("own", "#!/bin/sh\necho own\n");
		const ws = await createWorkspace({
			place,
			tools: ["own"],
			script: { calls: [{ say: "one" }, { tools: [{ name: "own" }] }, { say: "two" }] },
		});
		const { agent } = await ws.run();
		const env = { LERNIE_SCRIPT: "script.yaml", LERNIE_HOME: "home" };
		expect(await ws.lernie(["-w", "ws", "message", agent, "go on"], { env, cwd: ws.root })).toMatchObject({ code: 0 });
		await until("the message to be answered", () => ws.entries(agent).length === 6);
		expect(ws.results(agent)[0]?.text).toBe("Exit code: 0\nown\n");
	},
);

verifies("contract-sender", "a sender that is no agent's id is refused, and nothing is written", async () => {
	const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
	const { agent } = await ws.run();
	const before = everything(ws.root);
	for (const sender of ["../../escaped", "a/b", "x\nepitaph: died", "tool", ".hidden"]) {
		const ran = await ws.in(["message", agent, "hi"], { env: { LERNIE_CONV_BRANCH: sender } });
		expect.soft({ sender, code: ran.code }).toEqual({ sender, code: 3 });
	}
	expect(everything(ws.root)).toEqual(before);
});

verifies(
	"contract-elsewhere",
	"an agent that works in a given directory changes it there, and every surface says that it is not recorded",
	async () => {
		const place = createPlace();
		mkdirSync(place.path("project"));
		const project = realpathSync(place.path("project"));
		const options = { place, run: { flags: ["--cwd", "project"] }, after: [{ say: "done" }, { say: "more" }] };
		const { ran, agent, ws } = await runCalls([bash("pwd; echo 1 > made")], options);
		expect(ran.stderr).toContain(`works in ${project}: nothing there is part of the record`);
		expect(ws.results(agent)[0]?.text).toBe(`Exit code: 0\n${project}\n`);
		expect(place.read("project/made")).toBe("1\n");
		expect(ws.git("ls-tree", "-r", "--name-only", `agents/${agent}`)).not.toContain("made");
		expect((await ws.in(["log", agent])).stdout.split("\n")[0]).toContain(project);
		const here = await ws.in(["run", "--here", "hi"], { cwd: place.path("project") });
		expect(here.stderr).toContain(`works in ${project}`);
	},
);

verifies(
	"contract-elsewhere",
	"an agent that moves inside its own directory is not said to be unrecorded",
	async () => {
		const after = [{ say: "done" }, { tools: [bash("echo 1 > f; pwd")] }, { say: "more" }];
		const { ran, agent, ws } = await runCalls([bash("mkdir sub"), { name: "cd", input: { path: "sub" } }], { after });
		expect(ran.code).toBe(0);
		expect((await ws.in(["message", agent, "go on"])).code).toBe(0);
		await until("the message to be answered", () => ws.entries(agent).length === 9 && atRest(ws, agent));
		expect(ws.read(`ws/steps/${agent}/driver.log`)).not.toContain("part of the record");
		expect(ws.git("show", `agents/${agent}:sub/f`)).toBe("1\n");
	},
);

verifies(
	"contract-awkward-path",
	"blanks, quotes and letters of any script in a workspace's path are fine",
	async () => {
		const place = createPlace();
		place.write(
			"script.yaml",
			`calls: [{tools: [{name: bash, input: {command: "pwd > where"}}]}, {say: done}]\nthen: end\n`,
		);
		const env = { LERNIE_SCRIPT: place.path("script.yaml") };
		const dir = place.path('it\'s a "dïr" $HOME', "-w x");
		expect(await place.lernie(["new", dir, "--control", "none"], { env })).toMatchObject({
			code: 0,
			stdout: `${dir}\n`,
		});
		const ran = await place.lernie(["-w", dir, "run", "hi"], { env });
		expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "done\n" });
		const agent = ran.stderr.split(" ")[1] ?? "";
		expect(place.read(`it's a "dïr" $HOME/-w x/agents/${agent}/where`)).toBe(`${dir}/agents/${agent}\n`);
		expect(await place.lernie(["message", agent, "hi"], { env: { ...env, LERNIE_WORKSPACE: dir } })).toMatchObject({
			code: 0,
		});
		const listed = async () =>
			JSON.parse((await place.lernie(["-w", dir, "ls", "--json"])).stdout)[0] as { entries: number };
		await until("the message to be answered", async () => (await listed()).entries === 6);
	},
);
