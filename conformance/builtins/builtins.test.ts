import { existsSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { expect } from "vitest";
import { createPlace, until } from "../support/place.ts";
import { atRest, bash, runCalls, scriptPast, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

const read = (path: string) => ({ name: "read_file", input: { path } });
const cd = (path: string) => ({ name: "cd", input: { path } });

verifies(["tools-201", "tools-204"], "bash keeps its streams and exit code apart, and its stdin is empty", async () => {
	const { agent, results, ws } = await runCalls([
		{ ...bash("printf out; printf warn >&2; exit 42"), id: "t1" },
		bash("cat; echo end"),
	]);
	expect(results.map(({ text }) => text)).toEqual(["Exit code: 42\nout\n--- stderr ---\nwarn", "Exit code: 0\nend\n"]);
	expect(JSON.parse(ws.read(stepFile(agent, "001", "tools/t1/output.json")))).toMatchObject({
		exit_code: 42,
		stdout: "out",
		stderr: "warn",
	});
});

verifies("contract-bash-missing", "without a bash the call fails and names it", async () => {
	const place = createPlace();
	// All the driver needs, and no shell.
	for (const name of ["git", "flock", "node"]) {
		const found = (place.env.PATH ?? "")
			.split(":")
			.map((entry) => `${entry}/${name}`)
			.find((path) => existsSync(path));
		mkdirSync(place.path("bin"), { recursive: true });
		symlinkSync(found ?? "", place.path("bin", name));
	}
	const { results } = await runCalls([bash("true")], { place, run: { env: { PATH: place.path("bin") } } });
	expect(results[0]).toMatchObject({
		isError: true,
		text: expect.stringMatching(/^Exit code: 1\n.*\nlernie tool bash: .*bash/s),
	});
});

verifies("tools-205", "read_file gives up to 1 MiB, and beyond it says the size and the bound", async () => {
	const place = createPlace();
	writeFileSync(place.path("cap"), Buffer.alloc(1_048_576, "a"));
	writeFileSync(place.path("over"), Buffer.alloc(1_048_577, "a"));
	const calls = [read(place.path("cap")), read(place.path("over")), read("missing"), read(".")];
	const workflow = { tool_output: { head_bytes: 1_048_576, tail_bytes: 0 } };
	const { results } = await runCalls(calls, { place, workflow });
	expect(results[0]).toMatchObject({ isError: false, text: `Exit code: 0\n${"a".repeat(1_048_576)}` });
	expect(results[1]).toMatchObject({ isError: true, text: expect.stringMatching(/is 1048577 bytes.*cap 1048576/) });
	expect(results[2]?.text).toContain("lernie tool read_file: open missing:");
	expect(results[3]?.isError).toBe(true);
});

verifies(
	"tools-207",
	"cd resolves links and .., is kept, and declines what is no directory without moving",
	async () => {
		const place = createPlace();
		mkdirSync(place.path("real/inner"), { recursive: true });
		symlinkSync(place.path("real"), place.path("link"));
		const calls = [
			cd(place.path("link/inner/..")),
			cd("nowhere"),
			cd(place.write("file", "")),
			cd("inner"),
			bash("pwd"),
		];
		const { agent, results, ws } = await runCalls(calls, { place });
		const real = realpathSync(place.path("real"));
		expect(results.map(({ text, isError }) => [text.split("\n").at(isError ? -2 : 1), isError])).toEqual([
			[JSON.stringify({ cwd: real }), false],
			["lernie tool cd: nowhere: no such directory", true],
			[`lernie tool cd: ${place.path("file")}: not a directory`, true],
			[JSON.stringify({ cwd: `${real}/inner` }), false],
			[`${real}/inner`, false],
		]);
		expect(ws.git("cat-file", "blob", `refs/lernie/cwd/${agent}`)).toBe(`${real}/inner`);
	},
);

verifies(
	"tools-208",
	"message deposits in the caller's name, whatever the input says, and wakes the other",
	async () => {
		const ws = await createWorkspace({ script: scriptPast("end", [{ say: "first" }]) });
		const other = await ws.run("wait for mail", { flags: ["--name", "Other"] });
		const send = (input: unknown) => ({ name: "message", input });
		const tools = [
			send({ agent: "Other", content: "--help" }),
			send({ agent: "Other", content: "x", from: "user" }),
			send({ agent: "Nobody", content: "x" }),
		];
		ws.setScript(scriptPast("end", [{ tools }, { say: "done" }]));
		const { agent } = await ws.run();
		expect(ws.results(agent)).toMatchObject([
			{ isError: false, text: 'Exit code: 0\n{"status":"deposited"}' },
			{ isError: true, text: expect.stringContaining('invalid input JSON: unknown key "from"') },
			{ isError: true, text: expect.stringContaining("Nobody") },
		]);
		await until("the other one to answer", () => ws.entries(other.agent).length === 4 && atRest(ws, other.agent));
		expect(ws.entries(other.agent)[2]).toMatchObject({
			file: `003-${agent}.md`,
			text: expect.stringMatching(new RegExp(`^---\nfrom: ${agent}\n.*\n---\n--help$`, "s")),
		});
	},
);
