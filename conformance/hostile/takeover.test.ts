import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { expect } from "vitest";
import { shellControl, ticks, tickTool } from "../support/controls.ts";
import { listAgents, onlyAgent } from "../support/listing.ts";
import { pauseAt } from "../support/paused.ts";
import { createPlace, until } from "../support/place.ts";
import { stepFile } from "../support/scenario.ts";
import { together } from "../support/together.ts";
import { faultsOf, openAt, transcriptOf } from "../support/transcript.ts";
import { everything } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const LOST = "another process took it over";
const PASS = `echo '{"verdict":"pass"}'`;

/** Somebody replaces the inbox, and with it the lease: the paused driver has lost its agent without knowing. */
const replaceInbox = (ws: Workspace, agent: string): void => {
	renameSync(ws.path("ws/inbox", agent), ws.path("inbox.old"));
	mkdirSync(ws.path("ws/inbox", agent));
	for (const file of readdirSync(ws.path("inbox.old")))
		renameSync(ws.path("inbox.old", file), ws.path("ws/inbox", agent, file));
};

const ticking = async (tools: readonly Readonly<Record<string, unknown>>[]): Promise<Workspace> => {
	const place = createPlace();
	tickTool(place, "tick");
	const calls = [{ tools }, { say: "done" }];
	return createWorkspace({ place, tools: ["tick"], control: shellControl(place, PASS), script: { calls } });
};

/** All that a driver may write about an agent but its own step's files. */
const traces = (ws: Workspace, agent: string): unknown => {
	const log = `ws/steps/${agent}/driver.log`;
	return {
		refs: ws.git("for-each-ref"),
		files: ["agents", "inbox"].map((directory) => everything(ws.path("ws", directory))),
		log: ws.exists(log) ? ws.read(log) : "",
		ticks: ticks(ws),
	};
};

/** Where a driver stands still, by what it is in the middle of. */
const SITES = {
	founding: ["found.refs", "found.directory", "owner.written"],
	delivery: ["entry.objects", "delivery.committed", "delivery.unlinked"],
	"model call": ["call.request", "call.first-byte", "call.sealed"],
	commit: ["entry.objects#2", "entry.ref", "entry.objects#3", "snapshot.done"],
	judging: ["consult.sent", "consult.answered", "tool.input"],
	tool: ["tool.spawned", "tool.process", "tool.exited", "tool.output"],
	leaving: ["result.ref#2", "release.before", "release.after"],
} as const;

/** Where the driver finds nothing left to do when it wakes up, so that it may end without having noticed. */
const UNNOTICED: readonly string[] = ["owner.written", ...SITES.leaving];

for (const [doing, sites] of Object.entries(SITES))
	verifies("hostile-takeover-write", `the driver that lost its agent while ${doing} writes nothing more`, async () => {
		await together(sites, async (site) => {
			const ws = await ticking([{ name: "tick" }, { name: "tick" }]);
			const old = await pauseAt(ws, site, ["run", "hello"]);
			const agent = await onlyAgent(ws);
			replaceInbox(ws, agent);
			const next = await ws.advance(agent);
			expect(next, `${site}: ${next.stderr}`).toMatchObject({ code: 0 });
			const before = traces(ws, agent);
			const { code, stderr } = await old.resume();
			expect([1, ...(UNNOTICED.includes(site) ? [0] : [])], `${site}: ${stderr}`).toContain(code);
			expect(traces(ws, agent), site).toEqual(before);
			expect(await listAgents(ws), site).toMatchObject([{ state: "done", last_error: null }]);
			const lines = transcriptOf(ws, agent);
			expect([faultsOf(lines), openAt(lines)], site).toEqual([[], []]);
			expect(ticks(ws).length, site).toBeLessThanOrEqual(2);
		});
	});

verifies("hostile-takeover-start", "the driver that lost its agent starts nothing more", async () => {
	for (const site of ["entry.ref", "consult.answered", "tool.input"]) {
		const ws = await ticking([{ id: "first", name: "tick", input: {} }]);
		const old = await pauseAt(ws, site, ["run", "hello"]);
		const agent = await onlyAgent(ws);
		replaceInbox(ws, agent);
		const next = await ws.advance(agent);
		expect(next, next.stderr).toMatchObject({ code: 0 });
		const ended = await old.resume();
		expect(ended.code, `${site}: ${ended.stderr}`).toBe(1);
		expect(ended.stderr).toContain(LOST);
		expect(ticks(ws), site).toEqual([]);
		expect(ws.results(agent)).toHaveLength(1);
	}
});

verifies("hostile-takeover-mail", "the driver that lost its agent removes no message but its own", async () => {
	const place = createPlace();
	const ws = await createWorkspace({
		place,
		control: shellControl(place, `echo '{"verdict":"hold","reason":"wait"}'`),
		script: { calls: [{ tools: [{ name: "bash", input: { command: "true" } }] }] },
	});
	const old = await pauseAt(ws, "delivery.committed", ["run", "hello"]);
	const agent = await onlyAgent(ws);
	replaceInbox(ws, agent);
	expect((await ws.advance(agent)).code).toBe(10);
	expect((await ws.in(["message", agent, "IMPORTANT"])).code).toBe(0);
	expect(ws.exists(`ws/inbox/${agent}/user-001.md`)).toBe(true);
	expect((await old.resume()).code).toBe(1);
	expect(ws.read(`ws/inbox/${agent}/user-001.md`)).toContain("IMPORTANT");
});

verifies("hostile-takeover-record", "the failure of a driver that lost its agent is not the agent's", async () => {
	const place = createPlace();
	place.tool("nap", "#!/bin/sh\nexec sleep 60\n");
	const ws = await createWorkspace({
		place,
		tools: ["nap"],
		script: { calls: [{ tools: [{ name: "nap" }] }, { say: "done" }] },
	});
	const old = await pauseAt(ws, "tool.process", ["run", "hello"]);
	const agent = await onlyAgent(ws);
	replaceInbox(ws, agent);
	// It ends the call that the old driver waits for.
	expect((await ws.advance(agent)).code).toBe(0);
	const before = traces(ws, agent);
	expect(await old.resume()).toMatchObject({ code: 1, stderr: expect.stringContaining("killed by signal") });
	expect(traces(ws, agent)).toEqual(before);
	expect(await listAgents(ws)).toMatchObject([{ state: "done", last_error: null }]);
});

verifies(
	"hostile-takeover-owner",
	"a driver that lost its agent before it wrote itself in does not take it back",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ attempts: [{ error: { status: 400 } }] }] } });
		const { agent } = await ws.run();
		const real = execFileSync("sh", ["-c", "command -v flock"], { encoding: "utf8" }).trim();
		const [locked, gate] = [ws.path("locked"), ws.path("gate")];
		ws.script(
			"bin/flock",
			`#!/bin/sh\n${real} "$@" || exit $?\necho > ${locked}\nwhile [ ! -e ${gate} ]; do sleep 0.01; done\n`,
		);
		const env = { PATH: `${ws.path("bin")}:${ws.env.PATH}`, LERNIE_SCRIPT: ws.path("script.yaml") };
		const old = ws.start(["-w", ws.dir, "advance", agent], { env });
		await until("the old driver has the lease", () => ws.exists("locked"));
		replaceInbox(ws, agent);
		// The new one is at work when the old one wakes up, and has to be able to commit.
		const wait = "while [ ! -e go ]; do sleep 0.01; done";
		ws.setScript({ calls: [{ tools: [{ name: "bash", input: { command: wait } }] }, { say: "done" }] });
		const next = ws.start(["-w", ws.dir, "advance", agent], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
		await until("the new driver's call runs", () =>
			ws.exists(stepFile(agent, "002", "tools", "call_1", "process.json")),
		);
		const before = traces(ws, agent);
		ws.write("gate", "");
		expect(await old.ended).toMatchObject({ code: 1, stderr: expect.stringContaining(LOST) });
		expect(traces(ws, agent)).toEqual(before);
		ws.write(`ws/agents/${agent}/go`, "");
		expect(await next.ended).toMatchObject({ code: 0 });
		expect(ws.results(agent).map(({ isError }) => isError)).toEqual([false]);
	},
);

verifies(
	"hostile-takeover-kill",
	"a driver that lost its agent ends no call and no consult of the one that took over",
	async () => {
		const place = createPlace();
		const wait = (what: string): string =>
			`echo >> ${place.path(`${what}.log`)}; while [ ! -e ${place.path(`${what}.go`)} ]; do sleep 0.01; done`;
		const control = shellControl(place, `case "$request" in *slow*) ${wait("consult")} ;; esac\n${PASS}`);
		const script = {
			calls: [{ tools: [{ name: "bash", input: { command: "true" } }] }, { tools: [] as unknown[] }, { say: "done" }],
		};
		for (const what of ["call", "consult"]) {
			const command = what === "call" ? wait("call") : "echo slow";
			script.calls[1] = { tools: [{ name: "bash", input: { command } }] };
			const ws = await createWorkspace({ place, control, script, existing: what === "consult" });
			ws.setScript(script);
			const old = await pauseAt(ws, "result.ref", ["run", what]);
			const agent = (await listAgents(ws)).at(-1)?.id ?? "";
			replaceInbox(ws, agent);
			const next = ws.start(["-w", ws.dir, "advance", agent], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
			await until(`the new driver's ${what} runs`, () => place.exists(`${what}.log`));
			const ended = await old.resume();
			expect(ended, ended.stderr).toMatchObject({ code: 1, stderr: expect.stringContaining(LOST) });
			place.write(`${what}.go`, "");
			expect(await next.ended).toMatchObject({ code: 0 });
			expect(ws.results(agent).map(({ isError }) => isError)).toEqual([false, false]);
			expect(place.read(`${what}.log`)).toBe("\n");
			renameSync(ws.path("inbox.old"), ws.path(`inbox.old.${what}`));
		}
	},
);
