import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { callDirectory, sha256Hex } from "@lernie/contract";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { verifies } from "../../../../conformance/support/verifies.ts";
import { groupAlive } from "../process/group.ts";
import { callEnvironmentPrefix } from "./call-environment.ts";
import { executeTool } from "./execute.ts";
import { createWorld, inputOf, textOf, type World } from "./fixtures/world.ts";
import type { HostTools } from "./host.ts";
import { readOpenCalls } from "./record.ts";
import { resolveTool } from "./resolve.ts";

let world: World;
beforeEach(() => {
	world = createWorld();
});
afterEach(() => world.remove());

const json = (path: string): unknown => JSON.parse(readFileSync(path, "utf8"));

describe("an external tool", () => {
	test("gets no arguments and its input's own bytes on stdin", async () => {
		world.tool("show", 'echo "$#"; cat');
		const input = '{"n":9007199254740993,"f":1.0,"10":1,"2":2}';
		expect(textOf(await world.run({ name: "show", input }))).toBe(`Exit code: 0\n0\n${input}`);
	});

	test("starts in the agent's directory", async () => {
		world.tool("where", "pwd");
		expect(textOf(await world.run({ name: "where" }))).toBe(`Exit code: 0\n${world.context.cwd}\n`);
	});

	test("sees the closed environment, who calls, and its own mark", async () => {
		world.tool("env", "/usr/bin/env");
		const lines = textOf(await world.run({ name: "env" })).split("\n");
		expect(lines).toContain(`LERNIE_CONV_REPO=${world.workspace}`);
		expect(lines).toContain("LERNIE_CONV_BRANCH=a");
		expect(lines).toContain(`LERNIE_CALL=${sha256Hex(world.workspace).slice(0, 12)}/a/001/t1`);
		expect(lines).toContain("EXTRA=e");
		expect(lines.some((line) => line.startsWith("SECRET="))).toBe(false);
		expect(callEnvironmentPrefix(world.workspace, "a", "001")).toBe(
			`${sha256Hex(world.workspace).slice(0, 12)}/a/001/`,
		);
	});

	test("that fails is an error with both streams", async () => {
		world.tool("fail", "echo out; echo err >&2; exit 7");
		expect(await world.run({ name: "fail" })).toMatchObject({
			kind: "answered",
			text: "Exit code: 7\nout\n--- stderr ---\nerr\n",
			isError: true,
			exitCode: 7,
			bytes: 8,
		});
	});

	test("that succeeds with something on stderr is no error", async () => {
		world.tool("warn", "echo careful >&2");
		expect(await world.run({ name: "warn" })).toMatchObject({ isError: false, exitCode: 0 });
	});

	test("that a signal kills is a fault without an output record", async () => {
		world.tool("crash", "kill -SEGV $$");
		await expect(world.run({ name: "crash" })).rejects.toMatchObject({
			code: "TOOL_KILLED",
			data: { tool: "crash", signal: "SIGSEGV" },
		});
		expect(existsSync(join(world.recordOf("t1"), "output.json"))).toBe(false);
		expect(existsSync(join(world.recordOf("t1"), "input.json"))).toBe(true);
	});

	test("that cannot be executed is answered in band, with its start and no output on record", async () => {
		chmodSync(world.tool("inert", "true"), 0o644);
		const outcome = await world.run({ name: "inert" });
		expect(outcome).toMatchObject({ kind: "not-started", why: expect.stringContaining("EACCES") });
		expect(existsSync(join(world.recordOf("t1"), "input.json"))).toBe(true);
		expect(existsSync(join(world.recordOf("t1"), "output.json"))).toBe(false);
	});

	test("whose file changed after it was judged does not start", async () => {
		const path = world.tool("shifty", "touch ran");
		const tool = await resolveTool("shifty", { dataRoot: world.dataRoot, env: world.context.env });
		writeFileSync(path, "#!/bin/sh\ntouch RAN\n");
		const call = { id: "t1", name: "shifty", input: "{}" };
		const outcome = await executeTool(call, tool, world.context);
		expect(outcome).toEqual({ kind: "not-started", why: `${path} changed after it was judged` });
		expect(existsSync(join(world.context.cwd, "RAN"))).toBe(false);
	});

	test("whose link was turned after it was judged does not start, though the bytes are equal", async () => {
		const path = world.tool("linked", "touch ran");
		const other = join(world.root, "other");
		writeFileSync(other, readFileSync(path), { mode: 0o755 });
		const tool = await resolveTool("linked", { dataRoot: world.dataRoot, env: world.context.env });
		rmSync(path);
		symlinkSync(other, path);
		const outcome = await executeTool({ id: "t1", name: "linked", input: "{}" }, tool, world.context);
		expect(outcome.kind).toBe("not-started");
	});

	test("past its time limit is ended with its group, and what it wrote is kept", async () => {
		world.tool("slow", "echo begun; sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 0.05; done'");
		const outcome = await world.run({ name: "slow" }, { timeoutSeconds: 1.5 });
		expect(outcome).toMatchObject({ text: "timed out after 1.5 s\nbegun\n", isError: true, exitCode: null });
		expect(json(join(world.recordOf("t1"), "output.json"))).toMatchObject({ stdout: "begun\n", exit_code: null });
		const [call] = readOpenCalls(world.context.stepDirectory);
		if (call?.process === undefined) throw new Error("no process record");
		expect(groupAlive(call.process)).toBe(false);
	});

	test("runs through the sandbox where there is one", async () => {
		world.tool("plain", "echo inside=$INSIDE");
		const sandbox = {
			wrap: (command: Parameters<NonNullable<typeof world.context.sandbox>["wrap"]>[0]) => ({
				...command,
				program: "/usr/bin/env",
				args: ["INSIDE=yes", command.program, ...command.args],
			}),
		};
		expect(textOf(await world.run({ name: "plain" }, { sandbox }))).toBe("Exit code: 0\ninside=yes\n");
	});
});

describe("the record", () => {
	test("a call's start is on disk before the call is", async () => {
		world.tool("look", 'cat "$LERNIE_CONV_REPO/steps/a/001/tools/t1/input.json"');
		const input = '{"a":1.0}';
		const expected = `{\n  "id": "t1",\n  "name": "look",\n  "input": ${input}\n}\n`;
		expect(textOf(await world.run({ name: "look", input }))).toBe(`Exit code: 0\n${expected}`);
	});

	test("the crash points are passed in the order of the call", async () => {
		world.tool("ok", "true");
		await world.run({ name: "ok" });
		expect(world.sites).toEqual(["tool.input", "tool.spawned", "tool.process", "tool.exited", "tool.output"]);
	});

	test("the output record has five keys, the streams whole, bad bytes replaced", async () => {
		world.tool("bytes", "printf 'a\\377b%0100d' 0");
		await world.run({ name: "bytes" }, { bound: { headBytes: 1, tailBytes: 1 } });
		const output = json(join(world.recordOf("t1"), "output.json"));
		expect(Object.keys(output as object)).toEqual(["stdout", "stderr", "exit_code", "started_at", "ended_at"]);
		expect(output).toMatchObject({ stdout: `a\uFFFDb${"0".repeat(100)}`, started_at: "2026-01-02T03:04:05Z" });
	});

	test("a stream over 8 MiB lies whole in a file beside the record", async () => {
		world.tool("flood", "head -c 9000000 /dev/zero | tr '\\0' x");
		const outcome = await world.run({ name: "flood" }, { bound: { headBytes: 3, tailBytes: 2 } });
		const marker =
			"[... stdout truncated: 9000000 bytes / 1 lines total; showing the first 3 and last 2 bytes; " +
			"full record: steps/a/001/tools/t1/output.json ...]\n";
		expect(textOf(outcome)).toBe(`Exit code: 0\nxxx\n${marker}xx`);
		const record = world.recordOf("t1");
		expect(json(join(record, "output.json"))).toMatchObject({ stdout: `xxx\n${marker}xx`, stdout_file: "stdout" });
		expect(statSync(join(record, "stdout")).size).toBe(9_000_000);
		expect(existsSync(join(record, "stderr"))).toBe(false);
	});

	test.each(["../../x", "", ".", "a/b", "/abs", "n\0l", "x".repeat(300)])(
		"the id %j stays inside tools/ and is verbatim in the record",
		async (id) => {
			world.tool("ok", "echo $LERNIE_CALL");
			const text = textOf(await world.run({ id, name: "ok" }));
			const directory = callDirectory(id);
			expect(directory).toMatch(/^~[0-9a-f]{32}$/);
			expect(text.trim().endsWith(`/a/001/${directory}`)).toBe(true);
			expect(json(join(world.recordOf(directory), "input.json"))).toMatchObject({ id });
		},
	);

	test("a call that was started is not started again", async () => {
		world.tool("count", "echo x >> count");
		await world.run({ name: "count" });
		await expect(world.run({ name: "count" })).rejects.toMatchObject({ code: "TOOL_RECORD" });
		expect(readFileSync(join(world.context.cwd, "count"), "utf8")).toBe("x\n");
	});

	test("a missing working directory is a fault before anything is written", async () => {
		rmSync(world.context.cwd, { recursive: true });
		await expect(world.run({ name: "bash" })).rejects.toMatchObject({ code: "NO_AGENT_DIRECTORY" });
		expect(existsSync(join(world.context.stepDirectory, "tools"))).toBe(false);
	});

	verifies("tools-120", "a step that is a file is a fault that names the record", async () => {
		rmSync(world.context.stepDirectory, { recursive: true });
		writeFileSync(world.context.stepDirectory, "");
		const path = world.recordOf("t1");
		await expect(world.run({ name: "bash" })).rejects.toMatchObject({ code: "TOOL_RECORD", data: { path } });
	});

	verifies("tools-132", "an output that cannot be put in its place is a fault that names it", async () => {
		mkdirSync(join(world.recordOf("t1"), "output.json/full"), { recursive: true });
		world.tool("ok", "true");
		const path = join(world.recordOf("t1"), "output.json");
		await expect(world.run({ name: "ok" })).rejects.toMatchObject({ code: "TOOL_RECORD", data: { path } });
	});

	test("recovery reads what is there of each call", async () => {
		expect(readOpenCalls(join(world.root, "nowhere"))).toEqual([]);
		world.tool("ok", "true");
		await world.run({ id: "done", name: "ok" });
		mkdirSync(world.recordOf("torn"));
		writeFileSync(join(world.recordOf("torn"), "input.json"), "");
		writeFileSync(join(world.recordOf("torn"), "process.json"), '{"pgid":');
		mkdirSync(world.recordOf("empty"));
		const calls = [...readOpenCalls(world.context.stepDirectory)].sort((a, b) => (a.directory < b.directory ? -1 : 1));
		expect(calls).toEqual([
			{
				directory: "done",
				input: true,
				process: { pgid: expect.any(Number), start_time: expect.any(String), boot_id: expect.any(String) },
				output: true,
			},
			{ directory: "empty", input: false, process: undefined, output: false },
			{ directory: "torn", input: true, process: undefined, output: false },
		]);
	});
});

describe("tools that are no external program", () => {
	test("an unknown name is an ordinary failure that lists the pool", async () => {
		for (const name of ["frobnicate", "constructor", "__proto__", "../x"]) {
			const outcome = await world.run({ id: name, name });
			expect(outcome).toMatchObject({ isError: true, exitCode: 1 });
			expect(textOf(outcome)).toBe(
				`Exit code: 1\n--- stderr ---\nlernie tool ${name}: unknown built-in tool: ${JSON.stringify(name)}; ` +
					"available: apply_patch, bash, cd, message, read_file\n",
			);
		}
	});

	test("a host's tool gets the record, bound and envelope of any other", async () => {
		const host: HostTools = {
			definitions: () => [{ name: "hosted", input_schema: "{}" }],
			route: async (call) => ({ stdout: Buffer.from(call.input), stderr: Buffer.from("e"), exitCode: 7 }),
		};
		const outcome = await world.run({ name: "hosted", input: '{"x":1}' }, { host });
		expect(textOf(outcome)).toBe('Exit code: 7\n{"x":1}\n--- stderr ---\ne');
		expect(world.sites).toEqual(["tool.input", "tool.exited", "tool.output"]);
		expect(existsSync(join(world.recordOf("t1"), "output.json"))).toBe(true);
	});

	test("a host's tool that nobody routes ends as unknown and runs nothing of the same name", async () => {
		world.tool("hosted", "touch ran");
		const host: HostTools = {
			definitions: () => [{ name: "hosted", input_schema: "{}" }],
			route: async () => undefined,
		};
		expect(textOf(await world.run({ name: "hosted" }, { host }))).toContain('unknown built-in tool: "hosted"');
		expect(existsSync(join(world.context.cwd, "ran"))).toBe(false);
	});

	test("bash shares the record and the mark with external tools", async () => {
		const input = inputOf({ command: "echo $LERNIE_CALL; echo warn >&2; exit 42" });
		const outcome = await world.run({ name: "bash", input });
		expect(textOf(outcome)).toMatch(/^Exit code: 42\n[0-9a-f]{12}\/a\/001\/t1\n--- stderr ---\nwarn\n$/);
		expect(existsSync(join(world.recordOf("t1"), "process.json"))).toBe(true);
	});

	test("a shell that dies by a signal is an exit code", async () => {
		const outcome = await world.run({ name: "bash", input: inputOf({ command: "kill -KILL $$" }) });
		expect(outcome).toMatchObject({ text: "Exit code: 137\n", isError: true, exitCode: 137 });
	});

	test("a command the kernel does not take is answered in band", async () => {
		for (const command of ["a\0b", "x".repeat(200_000)]) {
			const outcome = await world.run({ id: command.slice(0, 1), name: "bash", input: inputOf({ command }) });
			expect(outcome.kind).toBe("not-started");
		}
	});

	test("a background process that holds the output does not hold the call", async () => {
		const outcome = await world.run({ name: "bash", input: inputOf({ command: "sleep 60 & echo $!" }) });
		expect(outcome).toMatchObject({ exitCode: 0 });
		process.kill(Number(textOf(outcome).split("\n")[1]), "SIGKILL");
	});
});
