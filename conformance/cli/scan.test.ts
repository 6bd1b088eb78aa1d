import { readdirSync, rmdirSync } from "node:fs";
import { expect } from "vitest";
import { listAgents, onlyAgent } from "../support/listing.ts";
import { leaveMail, messagesOf } from "../support/mail.ts";
import { pauseAt } from "../support/paused.ts";
import { createPlace, until } from "../support/place.ts";
import { FAILS, QUIET, scan } from "../support/scan.ts";
import { atRest, bash, scriptPast } from "../support/scenario.ts";
import { everything } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const refs = (ws: Workspace): string => ws.git("for-each-ref");

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
