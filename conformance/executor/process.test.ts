import { mkdirSync, realpathSync } from "node:fs";
import { describe, expect } from "vitest";
import { PASS, shellControl } from "../support/controls.ts";
import { createPlace } from "../support/place.ts";
import { bash, runCalls, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";

const ENVIRONMENT = "#!/bin/sh\ntr '\\0' '\\n' < /proc/$$/environ\n";
const lines = (text: string | undefined): readonly string[] => (text ?? "").split("\n").slice(1, -1).sort();

describe("arguments and stdin", () => {
	verifies("tools-110", "an external tool gets no arguments", async () => {
		const place = createPlace();
		place.tool("count", '#!/bin/sh\necho "$#"\n');
		const { results } = await runCalls([{ name: "count", input: { a: "b" } }], { place, tools: ["count"] });
		expect(results[0]?.text).toBe("Exit code: 0\n0\n");
	});

	verifies(
		"tools-113",
		"stdin is exactly the input, then its end; arguments that are no object start nothing",
		async () => {
			const place = createPlace();
			place.tool("echo", "#!/bin/sh\ncat\n");
			const calls = [
				{ name: "echo", id: "o", input_json: '{ "z": 1.0, "a": [ 9007199254740993 ] }' },
				{ name: "echo", id: "s", input_json: '"a string"' },
			];
			const { results, agent } = await runCalls(calls, { place, tools: ["echo"] });
			expect(results[0]?.text).toBe('Exit code: 0\n{"z":1.0,"a":[9007199254740993]}');
			expect(results[1]).toMatchObject({
				isError: true,
				text: expect.stringContaining("the arguments are not usable"),
			});
			expect(place.exists(stepFile(agent, "001", "tools/s"))).toBe(false);
		},
	);

	verifies("tools-114", "a tool need not read a large input", async () => {
		const place = createPlace();
		place.tool("deaf", "#!/bin/sh\nexec 0<&-\necho heard nothing\n");
		const input = { text: "x".repeat(1_000_000) };
		const { results } = await runCalls([{ name: "deaf", input }], { place, tools: ["deaf"] });
		expect(results[0]).toMatchObject({ text: "Exit code: 0\nheard nothing\n", isError: false });
	});
});

describe("surroundings", () => {
	verifies(
		["tools-116", "contract-tool-environment"],
		"a tool sees the closed list, who calls, and what `tool_env` names",
		async () => {
			const place = createPlace();
			place.tool("env", ENVIRONMENT);
			const secret = { PROVIDER_API_KEY: "s3cret", SSH_AUTH_SOCK: "/x", NODE_OPTIONS: "", GIT_DIR: "/x" };
			const env = { ...secret, TZ: "UTC", LC_TIME: "C", WANTED: "w" };
			const workflow = { tool_env: ["WANTED", "UNSET_ONE"] };
			const { results, agent, ws } = await runCalls([{ name: "env" }], {
				place,
				tools: ["env"],
				workflow,
				run: { env },
			});
			const found = lines(results[0]?.text);
			expect(found.map((line) => line.split("=")[0])).toEqual(
				[
					"HOME",
					"LC_TIME",
					"LERNIE_CALL",
					"LERNIE_CONV_BRANCH",
					"LERNIE_CONV_REPO",
					"LERNIE_HOME",
					"PATH",
					"TMPDIR",
				].concat(["TZ", "WANTED"]),
			);
			expect(found).toContain(`LERNIE_CONV_REPO=${ws.dir}`);
			expect(found).toContain(`LERNIE_CONV_BRANCH=${agent}`);
			expect(found.find((line) => line.startsWith("LERNIE_CALL="))).toMatch(
				new RegExp(`^LERNIE_CALL=[0-9a-f]+/${agent}/001/call_1$`),
			);
		},
	);

	verifies(
		"contract-bash-environment",
		"bash reads no start-up file, has a fixed locale and no secret of the driver",
		async () => {
			const place = createPlace();
			place.write("person/.bashrc", "echo from bashrc\n");
			const env = {
				PROVIDER_API_KEY: "s3cret",
				BASH_ENV: place.write("env.sh", "echo from BASH_ENV\n"),
				LC_ALL: "POSIX",
			};
			const command = 'echo "[$LC_ALL] [$BASH_ENV] [$ENV] [$PROVIDER_API_KEY]"';
			const { results } = await runCalls([bash(command)], {
				place,
				run: { env },
				workflow: { tool_env: ["BASH_ENV"] },
			});
			expect(results[0]?.text).toBe("Exit code: 0\n[C.UTF-8] [] [] []\n");
		},
	);

	verifies(
		"tools-117",
		"the working directory is the agent's, then where it moved to, then its own again once that is gone",
		async () => {
			const place = createPlace();
			mkdirSync(place.path("elsewhere"));
			place.tool("where", "#!/bin/sh\npwd\n");
			const where = { name: "where" };
			const calls = [where, { name: "cd", input: { path: place.path("elsewhere") } }, where, bash("rmdir $PWD"), where];
			const { results, agent, ws } = await runCalls(calls, { place, tools: ["where", "cd", "bash"] });
			const own = realpathSync(`${ws.dir}/agents/${agent}`);
			expect(results.map(({ text }) => text.split("\n")[1])).toEqual([
				own,
				JSON.stringify({ cwd: `${realpathSync(place.root)}/elsewhere` }),
				`${realpathSync(place.root)}/elsewhere`,
				"",
				own,
			]);
		},
	);

	verifies("tools-126", "a tool leads its own session and process group", async () => {
		const place = createPlace();
		place.tool(
			"group",
			"#!/bin/sh\nread -r pid name state parent group session rest < /proc/$$/stat\necho $$ $group $session\n",
		);
		const { results } = await runCalls([{ name: "group" }], { place, tools: ["group"] });
		const [pid, group, session] = (results[0]?.text.split("\n")[1] ?? "").split(" ");
		expect(Number(pid)).toBeGreaterThan(1);
		expect([group, session]).toEqual([pid, pid]);
	});

	verifies("tools-127", "a child that keeps the output open does not keep the call open", async () => {
		const place = createPlace();
		place.tool("parent", `#!/bin/sh\nsleep 60 &\necho $! > ${place.path("sleeper")}\necho started\n`);
		const began = Date.now();
		const { results } = await runCalls([{ name: "parent" }], { place, tools: ["parent"] });
		process.kill(Number(place.read("sleeper")), "SIGKILL");
		expect(results[0]).toMatchObject({ text: "Exit code: 0\nstarted\n", isError: false });
		expect(Date.now() - began).toBeLessThan(10_000);
	});
});

describe("death", () => {
	verifies(
		"tools-124",
		"an external tool that a signal kills ends the drive, with nothing committed and no output",
		async () => {
			const place = createPlace();
			place.tool("crash", "#!/bin/sh\nkill -SEGV $$\n");
			const { ran, agent, ws } = await runCalls([{ name: "crash", id: "t1" }], { place, tools: ["crash"] });
			expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining("killed by signal 11") });
			expect(ws.entries(agent).map(({ file }) => file)).toEqual(["001-user.md", "002-model-a.json"]);
			expect(place.exists(stepFile(agent, "001", "tools/t1/input.json"))).toBe(true);
			expect(place.exists(stepFile(agent, "001", "tools/t1/output.json"))).toBe(false);
			const again = await ws.advance(agent);
			expect(again.code).toBe(0);
			expect(ws.results(agent)).toMatchObject([{ isError: true, text: expect.stringContaining("unknown whether") }]);
		},
	);

	verifies("tools-203", "a shell that a signal kills is an exit code and no fault", async () => {
		const { ran, results } = await runCalls([bash("kill -TERM $$"), bash("kill -KILL $$")]);
		expect(ran.code).toBe(0);
		expect(results).toMatchObject([
			{ text: "Exit code: 143\n", isError: true },
			{ text: "Exit code: 137\n", isError: true },
		]);
	});

	verifies(
		"tools-119",
		"an agent's directory that is gone when a call is due is a fault before any record",
		async () => {
			const place = createPlace();
			const control = shellControl(
				place,
				`rm -rf "$LERNIE_CONV_REPO/agents/$LERNIE_CONV_BRANCH"; printf '%s' '${PASS}'`,
			);
			const { ran, agent, ws } = await runCalls([bash("echo never")], { place, control });
			expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining("does not exist") });
			expect(place.exists(stepFile(agent, "001", "tools"))).toBe(false);
			expect(ws.results(agent)).toEqual([]);
		},
	);
});
