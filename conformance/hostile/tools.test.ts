import { execFileSync, spawn } from "node:child_process";
import { openSync } from "node:fs";
import { expect } from "vitest";
import { LAUNCHER } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

const bash = (command: string) => ({ tools: [{ name: "bash", input: { command } }] });

verifies("hostile-proc", "the driver's environment cannot be read through read_file", async () => {
	const paths = ["/proc/self/environ", "/proc/thread-self/environ", "/dev/fd/0", "link/environ", "far"];
	const ws = await createWorkspace({
		script: {
			calls: [
				bash("ln -s /proc/self link; ln -s link/environ far"),
				...paths.map((path) => ({ tools: [{ name: "read_file", input: { path } }] })),
				{ say: "done" },
			],
		},
	});
	const ran = await ws.run("look", { env: { OPENAI_API_KEY: "sk-SECRET" } });
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	for (const { text } of ws.results(ran.agent).slice(1)) expect(text).toContain("/proc is not read by this tool");
	expect(() => execFileSync("grep", ["-r", "sk-SECRET", ws.path("ws/steps")])).toThrow();
});

verifies("hostile-descriptors", "a descriptor handed to the driver does not reach a tool", async () => {
	const ws = await createWorkspace({ script: { calls: [bash("ls /proc/self/fd; cat <&30"), { say: "done" }] } });
	const key = openSync(ws.write("key", "sk-SECRET"), "r");
	const stdio: (number | "ignore")[] = Array.from({ length: 31 }, (_, fd) => (fd === 30 ? key : "ignore"));
	const env = { ...ws.env, LERNIE_SCRIPT: ws.path("script.yaml") };
	const child = spawn(process.execPath, [LAUNCHER, "-w", ws.dir, "run", "hi"], { env, cwd: ws.root, stdio });
	const code = await new Promise((resolve) => child.once("close", resolve));
	expect(code).toBe(0);
	const [agent] = JSON.parse((await ws.in(["--json", "ls"])).stdout) as [{ id: string }];
	const [result] = ws.results(agent.id);
	expect(result?.text).not.toContain("sk-SECRET");
	expect(result?.text).toContain("Bad file descriptor");
});

verifies("hostile-directory", "a dangling link in the place of the directory does not end the agent", async () => {
	const replace = 'cd ..; rm -rf "$LERNIE_CONV_BRANCH"; ln -s /nonexistent "$LERNIE_CONV_BRANCH"';
	const ws = await createWorkspace({
		script: { calls: [bash("echo kept > kept.txt"), bash(replace), bash("cat kept.txt"), { say: "done" }] },
	});
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ws.results(ran.agent).at(-1)?.text).toContain("kept");
});

verifies("hostile-record-pipe", "a pipe where a record was does not stop the next drive", async () => {
	const steps = '"$LERNIE_CONV_REPO/steps/$LERNIE_CONV_BRANCH"';
	const pipes = `cd ${steps}/001; rm -f tools/call_1/process.json meta.json; mkfifo tools/call_1/process.json meta.json`;
	const ws = await createWorkspace({ script: { calls: [bash(`${pipes}; kill -9 $PPID; sleep 5`), { say: "done" }] } });
	const ran = await ws.run();
	expect(ran.signal).toBe("SIGKILL");
	const next = await ws.advance(ran.agent);
	expect(next, next.stderr).toMatchObject({ code: 0 });
	expect(ws.results(ran.agent)[0]?.text).toContain("unknown");
});

verifies("hostile-pruned", "pruning during a drive leaves every ref whole", async () => {
	const prune = "git -C $LERNIE_CONV_REPO/repo.git gc -q --prune=now";
	const ws = await createWorkspace({
		tools: ["bash", "cd"],
		script: {
			calls: [
				{
					tools: [
						{ name: "cd", input: { path: "/tmp" } },
						{ name: "cd", input: { path: "/usr" } },
						{ name: "bash", input: { command: prune } },
						{ name: "cd", input: { path: "/tmp" } },
					],
				},
				{ say: "done" },
			],
		},
	});
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ws.git("cat-file", "blob", `refs/lernie/cwd/${ran.agent}`)).toBe("/tmp");
});

verifies("hostile-sender", "nobody can send as an agent that is not there", async () => {
	const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
	const { agent } = await ws.run();
	const env = { LERNIE_CONV_BRANCH: "20200101T000000Z-00000000" };
	expect(await ws.in(["message", agent, "hello"], { env })).toMatchObject({
		code: 3,
		stderr: expect.stringContaining("there is no agent"),
	});
	expect(ws.entries(agent)).toHaveLength(2);
});
