import { execFileSync, spawn } from "node:child_process";
import { readdirSync, rmdirSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import { consults, shellControl } from "../support/controls.ts";
import { listAgents, onlyAgent } from "../support/listing.ts";
import { leaveMail, messagesOf } from "../support/mail.ts";
import { pauseAt } from "../support/paused.ts";
import { createPlace, until } from "../support/place.ts";
import { atRest, bash, scriptPast, stepFile } from "../support/scenario.ts";
import { everything } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

interface Report {
	readonly silent_deaths: readonly string[];
	readonly launched: readonly string[];
	readonly orphan_inboxes: readonly string[];
}

const scan = async (ws: Workspace, code = 0): Promise<Report> => {
	const ran = await ws.in(["scan", "--json"]);
	expect(ran.code, ran.stderr).toBe(code);
	return JSON.parse(ran.stdout) as Report;
};

const QUIET: Report = { silent_deaths: [], launched: [], orphan_inboxes: [] };
const refs = (ws: Workspace): string => ws.git("for-each-ref");
const onlyInbox = (ws: Workspace): string => readdirSync(ws.path("ws/inbox"))[0] ?? "";
const startRun = (ws: Workspace) =>
	ws.start(["-w", ws.dir, "run", "hello"], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });

const FAILS = { calls: [{ attempts: [{ error: { status: 400 } }] }] };

verifies(["cli-F13", "scan-json"], "every agent that died is named, and nobody else; nothing is changed", async () => {
	const ws = await createWorkspace({ script: FAILS });
	const dead = [(await ws.run()).agent];
	const script = { calls: [{ tools: [bash("true"), bash("true")] }, { say: "done" }] };
	ws.setScript(script);
	const whole = [(await ws.run()).agent, (await ws.run("hi", { flags: ["--max-steps", "1"] })).agent];
	for (const site of ["call.request", "call.first-byte", "call.sealed", "entry.ref", "tool.spawned", "result.ref"]) {
		const killed = await ws.run("hello", { env: { LERNIE_CRASH_AT: site } });
		expect(killed.signal, site).toBe("SIGKILL");
		dead.push(killed.agent);
	}
	// Between two turns nothing is lost: a drive of a single hop rests there.
	const between = await ws.run("hello", { env: { LERNIE_CRASH_AT: "call.request" } });
	expect((await ws.advance(between.agent, { flags: ["--hop"] })).code).toBe(0);
	expect(ws.entries(between.agent)).toHaveLength(4);

	const before = [refs(ws), everything(ws.dir)];
	const first = await ws.in(["scan"]);
	const ids = [...dead].sort().join(", ");
	const line = `silent deaths: ${dead.length} (${ids}); drivers launched: 0; inboxes with no agent branch: 0\n`;
	expect(first).toMatchObject({ code: 0, stdout: line });
	expect(await scan(ws)).toEqual({ ...QUIET, silent_deaths: [...dead].sort() });
	expect([refs(ws), everything(ws.dir)]).toEqual(before);
	for (const agent of whole) expect(first.stdout).not.toContain(agent);

	// A drive brings the dead back, and then they are none.
	for (const agent of dead) expect((await ws.advance(agent)).code).toBe(0);
	expect((await ws.in(["scan"])).stdout).toBe(
		"silent deaths: 0; drivers launched: 0; inboxes with no agent branch: 0\n",
	);
});

verifies(
	"cli-F13",
	"mail that nobody was woken for is delivered; inboxes without an agent are left alone",
	async () => {
		const ws = await createWorkspace({ script: scriptPast("end", [{ say: "one" }]) });
		const [one, two, idle] = [await ws.run(), await ws.run(), await ws.run()].map(({ agent }) => agent);
		if (one === undefined || two === undefined || idle === undefined) throw new Error("three agents were started");
		for (const agent of [one, two]) await leaveMail(ws, agent, "are you there");
		ws.write("ws/inbox/20200101T000000Z-00000000/user-001.md", "---\nfrom: user\n---\nlost\n");
		ws.write("ws/inbox/not-an-id/note.txt", "");
		// What is no message wakes nobody.
		ws.write(`ws/inbox/${idle}/notes.txt`, "");
		ws.write(`ws/inbox/${idle}/.user-001.md.tmp`, "");
		const lost = ["20200101T000000Z-00000000", "not-an-id"];
		expect(await scan(ws)).toEqual({ ...QUIET, launched: [one, two].sort(), orphan_inboxes: lost });
		for (const agent of [one, two]) {
			await until("its mail to be answered", () => ws.entries(agent).length === 4 && atRest(ws, agent));
			expect(messagesOf(ws, agent)).toEqual(["do it", "are you there"]);
		}
		expect(await scan(ws)).toEqual({ ...QUIET, orphan_inboxes: lost });
		expect(ws.read("ws/inbox/20200101T000000Z-00000000/user-001.md")).toContain("lost");
		expect(readdirSync(ws.path("ws/inbox", idle)).sort()).toEqual([".user-001.md.tmp", "notes.txt"]);
		expect(ws.entries(idle)).toHaveLength(2);
	},
);

verifies(
	"cli-F13",
	"mail that came in while a drive failed is what scan is for: the driver that fails wakes nobody",
	async () => {
		const ws = await createWorkspace({ script: FAILS });
		const driver = await pauseAt(ws, "call.request", ["run", "hello"]);
		const agent = await onlyAgent(ws);
		expect((await ws.in(["message", agent, "late"])).code).toBe(0);
		expect((await driver.resume()).code).toBe(13);
		expect(await listAgents(ws)).toMatchObject([{ state: "failed", pending_mail: 1 }]);
		ws.setScript({ calls: [{ say: "done" }] });
		expect(await scan(ws)).toEqual({ ...QUIET, silent_deaths: [agent], launched: [agent] });
		await until("its mail to be answered", () => ws.entries(agent).length === 3 && atRest(ws, agent));
		expect(messagesOf(ws, agent)).toEqual(["hello", "late"]);
	},
);

verifies("cli-F14", "no other verb wakes the agent whose mail was left lying", async () => {
	const ws = await createWorkspace({ script: scriptPast("end", [{ say: "one" }]) });
	const [left, other] = [(await ws.run()).agent, (await ws.run()).agent];
	await leaveMail(ws, left, "are you there");
	const verbs = [["ls"], ["held"], ["log", left], ["doctor"], ["config", "show"], ["config", "check"]];
	for (const verb of [...verbs, ["advance", other], ["message", other, "hi"], ["run", "more"]])
		expect((await ws.in(verb)).code, verb.join(" ")).toBe(0);
	await until("the other one to have answered", () => ws.entries(other).length === 4 && atRest(ws, other));
	expect(ws.entries(left)).toHaveLength(2);
	expect(readdirSync(ws.path("ws/inbox", left))).toEqual(["user-001.md"]);
	expect(ws.exists(`ws/steps/${left}/driver.log`)).toBe(false);
});

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
	const holder = spawn("flock", ["-n", "-x", ws.path("ws/inbox", agent), "-c", "echo held; exec sleep 60"]);
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

verifies("scan-unreadable", "an agent whose record cannot be read is named; the others are looked after", async () => {
	const ws = await createWorkspace({ script: scriptPast("end", [{ say: "one" }]) });
	const [broken, well] = [(await ws.run()).agent, (await ws.run()).agent];
	ws.git("update-ref", `refs/heads/agents/${broken}`, "config/default");
	await leaveMail(ws, well, "are you there");
	const ran = await ws.in(["scan", "--json"]);
	expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining(broken) });
	expect(JSON.parse(ran.stdout)).toEqual({ ...QUIET, launched: [well] });
	await until("its mail to be answered", () => ws.entries(well).length === 4 && atRest(ws, well));
	expect(await scan(ws, 1)).toEqual(QUIET);
	// Nothing at all to look at is no fault.
	const empty = await createWorkspace({ script: { calls: [] } });
	rmdirSync(empty.path("ws/inbox"));
	expect(await scan(empty)).toEqual(QUIET);
});

verifies("contract-help-all", "the plumbing is listed only where it is asked for", async () => {
	const place = createPlace();
	const listed = async (...args: readonly string[]): Promise<readonly string[]> => {
		const ran = await place.lernie(args);
		expect(ran, ran.stderr).toMatchObject({ code: 0, stderr: "" });
		return [...ran.stdout.slice(ran.stdout.indexOf("Commands:")).matchAll(/^ {2}([a-z]+)/gm)].map(
			([, verb]) => verb ?? "",
		);
	};
	const [plain, all] = [await listed("help"), await listed("help", "--all")];
	expect(await listed("--help")).toEqual(plain);
	expect(plain).toEqual(expect.arrayContaining(["run", "message", "ls", "held", "help"]));
	expect(all.filter((verb) => !plain.includes(verb))).toEqual(["advance", "scan"]);
	expect((await place.lernie(["help", "scan"])).stdout).toContain("Usage: lernie scan");
	expect(await place.lernie(["help", "nonsense"])).toMatchObject({ code: 2, stdout: "" });
});
