import { execFileSync, spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import { consults, shellControl } from "../support/controls.ts";
import { onlyAgent } from "../support/listing.ts";
import { leaveMail, messagesOf } from "../support/mail.ts";
import { pauseAt } from "../support/paused.ts";
import { createPlace, until } from "../support/place.ts";
import { FAILS, QUIET, scan } from "../support/scan.ts";
import { atRest, bash, scriptPast, stepFile } from "../support/scenario.ts";
import { everything } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const refs = (ws: Workspace): string => ws.git("for-each-ref");
const onlyInbox = (ws: Workspace): string => readdirSync(ws.path("ws/inbox"))[0] ?? "";
const startRun = (ws: Workspace) =>
	ws.start(["-w", ws.dir, "run", "hello"], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });

for (const [kind, answer, code] of [
	["hold", `echo '{"verdict":"hold","reason":"a person decides"}'`, 10],
	["fault", "exit 7", 14],
] as const)
	verifies("cli-E12", `parked by a ${kind}: not dead, not woken for its mail, the control not asked`, async () => {
		const place = createPlace();
		const ws = await createWorkspace({
			place,
			control: shellControl(place, answer),
			script: { calls: [{ tools: [bash("true"), bash("true")] }] },
		});
		const { agent, ...ran } = await ws.run();
		expect(ran.code, ran.stderr).toBe(code);
		expect(await scan(ws)).toEqual(QUIET);
		await leaveMail(ws, agent, "and?");
		const before = [refs(ws), everything(ws.dir), consults(place).length];
		for (const _ of [1, 2]) expect(await scan(ws)).toEqual(QUIET);
		expect([refs(ws), everything(ws.dir), consults(place).length]).toEqual(before);
	});

verifies("cli-E12", "a held agent whose next drive failed is still held", async () => {
	const place = createPlace();
	const control = shellControl(place, `echo '{"verdict":"hold","reason":"a person decides"}'`);
	const ws = await createWorkspace({ place, control, script: { calls: [{ tools: [bash("true")] }] } });
	const { agent } = await ws.run();
	ws.reconfigure(agent, { workflow: { nonsense: 1 } });
	await leaveMail(ws, agent, "and?");
	expect((await ws.advance(agent)).code).toBe(3);
	expect(ws.mark(agent)).toBeDefined();
	expect(await scan(ws)).toEqual(QUIET);
});

verifies("cli-E12", "killed right after the hold was put on record, an agent is held and not dead", async () => {
	const place = createPlace();
	const control = shellControl(place, `echo '{"verdict":"hold","reason":"a person decides"}'`);
	const ws = await createWorkspace({ place, control, script: { calls: [{ tools: [bash("true")] }] } });
	const killed = await ws.run("hello", { env: { LERNIE_CRASH_AT: "mark.written" } });
	expect(killed.signal).toBe("SIGKILL");
	expect(await scan(ws)).toEqual(QUIET);
	// Without the mark nobody knows of the call any more.
	ws.git("update-ref", "-d", `refs/lernie/held/${killed.agent}`);
	expect(await scan(ws)).toEqual({ ...QUIET, silent_deaths: [killed.agent] });
});

for (const site of ["found.objects", "found.refs", "found.directory"])
	verifies("scan-founding", `an agent whose founder stands still at ${site} is left alone`, async () => {
		const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
		const founder = await pauseAt(ws, site, ["run", "hello"]);
		const before = [refs(ws), everything(ws.dir)];
		expect(await scan(ws)).toEqual(QUIET);
		expect(JSON.parse((await ws.in(["--json", "doctor"])).stdout)).toEqual({ inboxes_without_agent: [] });
		expect([refs(ws), everything(ws.dir)]).toEqual(before);
		expect((await founder.resume()).code).toBe(0);
		expect(ws.entries(onlyInbox(ws))).toHaveLength(2);
	});

verifies(
	"scan-founding",
	"an agent whose founder was killed is no death; where it has a branch, its mail wakes it",
	async () => {
		for (const site of ["found.objects", "found.refs", "found.directory"]) {
			const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
			expect((await ws.run("hello", { env: { LERNIE_CRASH_AT: site } })).signal, site).toBe("SIGKILL");
			const id = onlyInbox(ws);
			if (site === "found.objects") {
				for (const _ of [1, 2]) expect(await scan(ws), site).toEqual({ ...QUIET, orphan_inboxes: [id] });
				continue;
			}
			expect(await scan(ws), site).toEqual({ ...QUIET, launched: [id] });
			await until("it answers", () => ws.entries(id).length === 2 && atRest(ws, id));
			expect(await scan(ws), site).toEqual(QUIET);
		}
	},
);

verifies("scan-founding", "a look at the lease right before the founder takes it ends no founding", async () => {
	const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
	const real = execFileSync("sh", ["-c", "command -v flock"], { encoding: "utf8" }).trim();
	const looked = ws.path("looked");
	const look = `${real} -n -x "$(readlink /proc/self/fd/3)" -c "echo > ${looked}; exec sleep 0.3" 3>&- &
		until [ -e ${looked} ]; do sleep 0.01; done`;
	const body = `case "$(readlink /proc/self/fd/3)" in */inbox/*) [ -e ${looked} ] || {\n${look}\n} ;; esac`;
	ws.script("bin/flock", `#!/bin/sh\n${body}\nexec ${real} "$@"\n`);
	const ran = await ws.run("hello", { env: { PATH: `${ws.path("bin")}:${ws.env.PATH}` } });
	expect(ws.exists("looked")).toBe(true);
	expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "done\n" });
});

interface Waiting {
	readonly what: string;
	readonly calls: readonly Readonly<Record<string, unknown>>[];
	readonly workflow?: Readonly<Record<string, unknown>>;
	readonly reached: (ws: Workspace, agent: string) => boolean;
}

const response = (ws: Workspace, agent: string): string => {
	const path = stepFile(agent, "001", "response.json");
	return ws.exists(path) ? ws.read(path) : "";
};

const WAITING: readonly Waiting[] = [
	{
		what: "a model that stalls",
		calls: [{ stall: true }],
		reached: (ws, agent) => response(ws, agent).includes("message_start"),
	},
	{
		what: "the pause before another attempt",
		calls: [{ attempts: [{ error: { status: 503 } }], say: "done" }],
		workflow: { retry: { base_ms: 60_000, jitter: 0 } },
		reached: (ws, agent) => response(ws, agent).includes('{"type":"end"}'),
	},
	{
		what: "a tool",
		calls: [{ tools: [bash("sleep 60"), bash("true")] }],
		reached: (ws, agent) => ws.exists(stepFile(agent, "001", "tools", "call_1", "process.json")),
	},
];

for (const { what, calls, workflow = {}, reached } of WAITING)
	verifies("scan-driven", `a driver that waits for ${what} is alive; killed, its agent is dead`, async () => {
		const ws = await createWorkspace({ script: { calls }, workflow });
		const driver = startRun(ws);
		await until("the driver waits", () => onlyInbox(ws) !== "" && reached(ws, onlyInbox(ws)));
		const agent = await onlyAgent(ws);
		expect(await scan(ws)).toEqual(QUIET);
		// A driver that stands still drives all the same, and mail for its agent is its own to deliver.
		driver.process.kill("SIGSTOP");
		await leaveMail(ws, agent, "still there?");
		expect(await scan(ws)).toEqual(QUIET);
		driver.process.kill("SIGKILL");
		await driver.ended;
		ws.setScript(scriptPast("end", []));
		expect(await scan(ws)).toEqual({ ...QUIET, silent_deaths: [agent], launched: [agent] });
		await until("its mail is answered", () => messagesOf(ws, agent).length === 2 && atRest(ws, agent));
		expect(await scan(ws)).toEqual(QUIET);
	});

verifies("scan-driven", "who holds the lease drives, though the record does not say so yet", async () => {
	const ws = await createWorkspace({ script: FAILS });
	const { agent } = await ws.run();
	const holder = spawn("flock", ["-F", "-n", "-x", ws.path("ws/inbox", agent), "sh", "-c", "echo held; exec sleep 60"]);
	onTestFinished(() => void holder.kill("SIGKILL"));
	await new Promise((resolve) => holder.stdout.once("data", resolve));
	expect(await scan(ws)).toEqual(QUIET);
});

verifies("scan-driven", "no moment of a drive looks like a death", async () => {
	const ticks = Array.from({ length: 60 }, () => ({ say: "on", tools: [bash("true"), bash("true")] }));
	const ws = await createWorkspace({ script: { calls: [...ticks, { say: "done" }] } });
	const driver = startRun(ws);
	let over = false;
	const ended = driver.ended.finally(() => {
		over = true;
	});
	let looks = 0;
	for (; !over; looks += 1) expect((await scan(ws)).silent_deaths).toEqual([]);
	expect((await ended).code).toBe(0);
	expect(looks).toBeGreaterThan(1);
});
