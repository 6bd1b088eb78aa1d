import { spawn } from "node:child_process";
import { expect } from "vitest";
import { ticks, tickTool } from "../support/controls.ts";
import { expectStopped, isReady, lastRecord } from "../support/driving.ts";
import { createPlace, isAlive, LAUNCHER, processesNaming, until } from "../support/place.ts";
import { ofCalls, sessionOf } from "../support/processes.ts";
import { verifies } from "../support/verifies.ts";
import { quiet, stateOf } from "../support/window.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

/** A workspace whose tool runs until the file `go` is there. */
const createUntilGo = (): Promise<Workspace> => {
	const place = createPlace();
	tickTool(place, "slow", `: > ${place.path("slow.ready")}\nuntil [ -e ${place.path("go")} ]; do sleep 0.02; done`);
	const script = { calls: [{ tools: [{ id: "t1", name: "slow" }] }, { say: "done" }] };
	return createWorkspace({ place, script, tools: ["slow"] });
};

const driverOf = (ws: Workspace): number =>
	(
		JSON.parse(
			ws.git("cat-file", "blob", ws.git("for-each-ref", "--format=%(refname)", "refs/lernie/owner").trim()),
		) as {
			pid: number;
		}
	).pid;

verifies(
	"run-detach",
	"`run --detach` answers with the id alone while the drive goes on, in a session of its own",
	async () => {
		const ws = await createUntilGo();
		const ran = await ws.run("go", { flags: ["--detach", "--name", "far"] });
		expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: `${ran.agent}\n` });
		expect(ran.stderr.split("\n")[0]).toBe(`agent ${ran.agent} far`);
		await isReady(ws, "slow");
		const driver = driverOf(ws);
		expect(sessionOf(driver)).toEqual({ session: driver, terminal: 0 });
		expect(await stateOf(ws, ran.agent)).toBe("running");
		ws.write("go", "");
		await quiet(ws);
		expect([await stateOf(ws, ran.agent), ticks(ws)]).toEqual(["done", ["slow"]]);
	},
);

verifies("run-detach", "with --json it is the line that names the agent", async () => {
	const ws = await createUntilGo();
	ws.write("go", "");
	const { code, stdout, stderr } = await ws.run("go", { flags: ["--detach", "--json", "--name", "far"] });
	expect([code, stderr.includes("Error")], stderr).toEqual([0, false]);
	const [row] = JSON.parse((await ws.in(["ls", "--json"])).stdout) as { id: string }[];
	expect(stdout).toBe(`${JSON.stringify({ type: "agent", id: row?.id, name: "far" })}\n`);
	await quiet(ws);
	expect(await stateOf(ws, row?.id ?? "")).toBe("done");
});

verifies("run-detach", "a refusal founds nothing and starts nothing", async () => {
	const ws = await createUntilGo();
	const ran = await ws.run("go", { flags: ["--detach", "--config", "nosuch"] });
	expect(ran).toMatchObject({ code: 3, stdout: "" });
	expect(processesNaming(ws.root)).toEqual([]);
	expect(ws.git("for-each-ref", "refs/heads/agents")).toBe("");
});

verifies(["run-detach", "stop-verb"], "a detached drive is stopped like any other, and its log says so", async () => {
	const ws = await createUntilGo();
	const { agent } = await ws.run("go", { flags: ["--detach"] });
	await isReady(ws, "slow");
	const driver = driverOf(ws);
	expect(await ws.in(["stop", agent])).toMatchObject({ code: 0 });
	expect([isAlive(driver), ofCalls(ws, agent)]).toEqual([false, []]);
	expect(lastRecord(ws, agent)).toMatchObject({ code: "STOPPED", exit: 11, tip: ws.tip(agent) });
	expect(await stateOf(ws, agent)).toBe("stopped");
});

/** Runs `lernie` in a terminal of its own; closing it is what a person does who closes the window. */
const inTerminal = (ws: Workspace, args: readonly string[]) => {
	const quoted = [process.execPath, LAUNCHER, "-w", ws.dir, ...args].map((word) => `'${word}'`).join(" ");
	const env = { ...ws.env, SHELL: "/bin/sh", LERNIE_SCRIPT: ws.path("script.yaml") };
	// The shell stays for as long as the terminal does.
	const terminal = spawn("script", ["-qec", `${quoted}; : > ${ws.path("returned")}; cat`, "/dev/null"], {
		env,
		stdio: ["pipe", "ignore", "ignore"],
	});
	const closed = new Promise<void>((resolve) => terminal.once("close", () => resolve()));
	return {
		close: async (): Promise<void> => {
			terminal.kill("SIGKILL");
			await closed;
		},
	};
};

verifies("run-detach", "closing the terminal does not reach a detached drive", async () => {
	const ws = await createUntilGo();
	const terminal = inTerminal(ws, ["run", "--detach", "go"]);
	await until("it has detached", () => ws.exists("returned"));
	await isReady(ws, "slow");
	await terminal.close();
	const driver = driverOf(ws);
	expect(isAlive(driver)).toBe(true);
	ws.write("go", "");
	await quiet(ws);
	const [row] = JSON.parse((await ws.in(["ls", "--json"])).stdout) as { state: string }[];
	expect(row?.state).toBe("done");
});

verifies("harness-H93", "closing the terminal stops a drive in it, and leaves no process", async () => {
	const ws = await createUntilGo();
	const terminal = inTerminal(ws, ["run", "go"]);
	await isReady(ws, "slow");
	await terminal.close();
	await quiet(ws);
	const [row] = JSON.parse((await ws.in(["ls", "--json"])).stdout) as { id: string; state: string }[];
	expect(row?.state).toBe("stopped");
	expect(lastRecord(ws, row?.id ?? "")).toMatchObject({ code: "STOPPED", exit: 11 });
	await expectStopped(ws, row?.id ?? "", { code: 11, signal: null, stdout: "", stderr: "" });
});
