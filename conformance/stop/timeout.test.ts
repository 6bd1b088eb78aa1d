import { expect } from "vitest";
import { ticks, tickTool } from "../support/controls.ts";
import { expectSettled, expectStopped, isReady, resultsOf, startRun, waitingTool } from "../support/driving.ts";
import { createPlace, isAlive, type Place, until } from "../support/place.ts";
import { familyOf, startFamily } from "../support/processes.ts";
import { bash, type Call, jsonLines, runCalls, stepFile } from "../support/scenario.ts";
import { transcriptOf } from "../support/transcript.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

const TOOLS = ["slow", "tick", "bash"];

interface Recorded {
	readonly stdout: string;
	readonly stderr: string;
	readonly exit_code: number | null;
}

for (const [seconds, shown] of [
	[2, "2"],
	[1.25, "1.25"],
] as const)
	verifies(
		"timeout-call",
		`a call that takes longer than ${shown} s is ended, answered in band with what it had printed, and the run goes on`,
		async () => {
			const place = createPlace();
			place.tool("slow", "#!/bin/sh\necho begun; echo also >&2; exec sleep 600\n");
			tickTool(place, "tick");
			const { ws, ran, agent, results } = await runCalls(
				[
					{ id: "t1", name: "slow" },
					{ id: "t2", name: "tick" },
				],
				{
					place,
					tools: TOOLS,
					workflow: { tool_timeout_seconds: seconds },
					run: { flags: ["--json"] },
					after: [{ expect: { tool_result: "Exit code: 0" }, say: "done" }],
				},
			);
			expect(ran, ran.stderr).toMatchObject({ code: 0 });
			const id = agent || String(jsonLines(ran.stdout).find(({ type }) => type === "agent")?.id);
			const [first, second] = results.length > 0 ? results : ws.results(id);
			expect(first?.text.split("\n")[0]).toBe(`timed out after ${shown} s`);
			expect(first).toMatchObject({ isError: true, text: expect.stringMatching(/^begun\n[\s\S]*^also$/m) });
			expect(second).toMatchObject({ isError: false });
			const [event] = jsonLines(ran.stdout).filter(({ type }) => type === "result");
			expect(event).toMatchObject({ id: "t1", is_error: true, exit_code: null });
			expect(Number(event?.ms)).toBeGreaterThanOrEqual(seconds * 1000);
			const output = JSON.parse(ws.read(stepFile(id, "001", "tools", "t1", "output.json"))) as Recorded;
			expect(output).toMatchObject({ stdout: "begun\n", stderr: "also\n", exit_code: null });
			expect(resultsOf(transcriptOf(ws, id))[0]?.verdict).toBe("none");
			expect(ticks(place)).toEqual(["tick"]);
		},
	);

/** When the result of a call is committed, which `run --json` says, nothing of the family may be alive. */
const expectFamilyEnded = async (place: Place, call: Call, tools: readonly string[]): Promise<void> => {
	const ws = await createWorkspace({
		place,
		script: { calls: [{ tools: [call] }, { say: "done" }] },
		tools,
		workflow: { tool_timeout_seconds: 3, tool_grace_seconds: 0.2 },
	});
	const run = await startRun(ws, { flags: ["--json"] });
	await until("the result is committed", () => run.output().stdout.includes('"type":"result"'));
	expect(familyOf(ws).filter(isAlive), "alive when the result was committed").toEqual([]);
	expect(familyOf(ws)).toHaveLength(4);
	expect(await run.ended).toMatchObject({ code: 0 });
	expect(ws.results(run.agent)[0]?.text).toMatch(/^timed out after 3 s\n/);
};

verifies(
	["timeout-family", "harness-H92"],
	"of a call that timed out nothing is alive when its result is committed, in whatever session it is",
	async () => {
		const place = createPlace();
		tickTool(place, "slow", `${startFamily(place)}\nwait`);
		await expectFamilyEnded(place, { name: "slow" }, ["slow"]);
	},
);

verifies(["timeout-family", "harness-H92"], "the same of the shell tool", async () => {
	const place = createPlace();
	await expectFamilyEnded(place, bash(`${startFamily(place)}\nwait`), ["bash"]);
});

verifies(
	["timeout-family", "harness-H97"],
	"a tool that has closed its output and never ends is ended at its limit",
	async () => {
		const { ran, results } = await runCalls([bash("exec > /dev/null 2>&1; exec sleep 600")], {
			workflow: { tool_timeout_seconds: 0.5 },
		});
		expect(ran.code).toBe(0);
		expect(results[0]?.text).toBe("timed out after 0.5 s\n");
	},
);

verifies(
	["timeout-family", "harness-H97"],
	"neither a stopped tool nor one whose child keeps its output open outlives the limit",
	async () => {
		const place = createPlace();
		tickTool(place, "slow", "(trap '' TERM; sleep 600) &\nkill -STOP $$");
		const { ran, results } = await runCalls([{ name: "slow" }], {
			place,
			tools: ["slow"],
			workflow: { tool_timeout_seconds: 0.5, tool_grace_seconds: 0.2 },
		});
		expect(ran.code).toBe(0);
		expect(results[0]?.text).toBe("timed out after 0.5 s\n");
	},
);

verifies("timeout-call", "a call that ends in time is not touched, whatever it left in the background", async () => {
	const { ran, results } = await runCalls([bash("sleep 600 > /dev/null 2>&1 & echo quick; exit 4")], {
		workflow: { tool_timeout_seconds: 30 },
	});
	expect([ran.code, results[0]?.text]).toEqual([0, "Exit code: 4\nquick\n"]);
});

verifies("timeout-call", "a tool that exits by itself after its limit has timed out all the same", async () => {
	const place = createPlace();
	waitingTool(place, "slow", "echo late; exit 0");
	const { ran, results } = await runCalls([{ name: "slow" }], {
		place,
		tools: ["slow"],
		workflow: { tool_timeout_seconds: 2 },
	});
	expect(ran.code).toBe(0);
	expect(results[0]).toMatchObject({ isError: true, text: "timed out after 2 s\nlate\n" });
});

verifies("timeout-call", "the limit is each call's own, not that of the message", async () => {
	const { results } = await runCalls(Array(4).fill(bash("sleep 1")), { workflow: { tool_timeout_seconds: 3 } });
	expect(results.map(({ text }) => text)).toEqual(Array(4).fill("Exit code: 0\n"));
});

verifies(
	["timeout-output", "harness-I100"],
	"a call that floods until its limit shows both ends with exact counts and where the whole is",
	async () => {
		const { ws, agent, results } = await runCalls([{ ...bash("echo first; yes 123456789"), id: "t1" }], {
			workflow: { tool_timeout_seconds: 1, tool_output: { head_bytes: 100, tail_bytes: 100 } },
		});
		const text = results[0]?.text ?? "";
		expect(text).toMatch(/^timed out after 1 s\nfirst\n123456789\n/);
		const path = `steps/${agent}/001/tools/t1/output.json`;
		expect(text).toContain(path);
		const record = JSON.parse(ws.read(`ws/${path}`)) as Recorded & { readonly stdout_file?: string };
		const { stdout_file: file } = record;
		const whole = file === undefined ? record.stdout : ws.read(`ws/steps/${agent}/001/tools/t1/${file}`);
		expect(whole.length).toBeGreaterThan(100_000);
		const lines = Math.ceil((whole.length - "first\n".length) / "123456789\n".length) + 1;
		expect(text).toContain(`stdout truncated: ${whole.length} bytes / ${lines} lines total`);
	},
);

verifies(
	"timeout-stop",
	"a stop while a timed out tool is being ended is a stop, and the call is answered",
	async () => {
		const place = createPlace();
		tickTool(place, "tick");
		waitingTool(place, "slow", `: > ${place.path("told.ready")}`);
		const ws = await createWorkspace({
			place,
			script: { calls: [{ tools: [{ name: "slow" }, { name: "tick" }] }, { say: "done" }] },
			tools: TOOLS,
			workflow: { tool_timeout_seconds: 2, tool_grace_seconds: 1 },
		});
		const run = await startRun(ws);
		await isReady(ws, "told");
		await expectStopped(ws, run.agent, await run.stop());
		const [slow, tick] = resultsOf(transcriptOf(ws, run.agent));
		expect(slow?.text).toMatch(/^timed out after 2 s\n/);
		expectSettled(tick, "not started");
		expect(ticks(ws)).toEqual(["slow"]);
	},
);

for (const [key, value] of [
	["tool_timeout_seconds", "0"],
	["tool_timeout_seconds", "-1"],
	["tool_timeout_seconds", "soon"],
	["tool_grace_seconds", "-1"],
	["tool_grace_seconds", "soon"],
] as const)
	verifies("timeout-config", `${key}: ${value} does not load, with its place`, async () => {
		const place = createPlace();
		const ws = await createWorkspace({ place, script: { calls: [{ say: "done" }] } });
		place.write("home/template/providers.yaml", "roles: {worker: {provider: scripted, model: m, tools: []}}\n");
		place.write("home/template/workflow.yaml", `tool_control: none\n${key}: ${value}\n`);
		const ran = await place.lernie(["new", place.path("other")], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
		expect(ran).toMatchObject({ code: 3, stdout: "" });
		expect(ran.stderr).toContain(`workflow.yaml:2:`);
		expect(ran.stderr).toContain(key);
		expect(place.exists("other")).toBe(false);
	});
