import { readdirSync } from "node:fs";
import { expect } from "vitest";
import { consults, shellControl } from "../support/controls.ts";
import { onlyAgent } from "../support/listing.ts";
import { leaveMail, messagesOf } from "../support/mail.ts";
import { pauseAt } from "../support/paused.ts";
import { createPlace, until } from "../support/place.ts";
import { atRest, bash, scriptPast } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

const ANSWERS = scriptPast("end", [{ say: "one" }, { say: "two" }]);

for (const site of ["release.before", "release.after"]) {
	verifies(
		"core-13",
		`mail left at ${site} is delivered by the driver that leaves, though nobody woke it`,
		async () => {
			const ws = await createWorkspace({ script: ANSWERS });
			const driver = await pauseAt(ws, site, ["run", "hello"]);
			const agent = await onlyAgent(ws);
			await leaveMail(ws, agent, "late");
			expect(await driver.resume()).toMatchObject({ code: 0 });
			expect(messagesOf(ws, agent)).toEqual(["hello", "late"]);
			expect(ws.entries(agent)).toHaveLength(4);
			expect(readdirSync(ws.path("ws/inbox", agent))).toEqual([]);
		},
	);

	verifies("core-13", `a message sent at ${site} is delivered once, whoever of the two takes it up`, async () => {
		const ws = await createWorkspace({ script: ANSWERS });
		const driver = await pauseAt(ws, site, ["run", "hello"]);
		const agent = await onlyAgent(ws);
		const sent = await ws.in(["message", "--json", agent, "late"]);
		expect(JSON.parse(sent.stdout)).toEqual({ agent, started: site === "release.after" });
		expect(await driver.resume()).toMatchObject({ code: 0 });
		await until("it is answered", () => ws.entries(agent).length === 4 && atRest(ws, agent));
		expect(messagesOf(ws, agent)).toEqual(["hello", "late"]);
	});
}

verifies(
	"core-13",
	"mail that comes in at the release of a held agent has the control asked once more, and waits",
	async () => {
		const place = createPlace();
		const control = shellControl(place, `echo '{"verdict":"hold","reason":"a person decides"}'`);
		const ws = await createWorkspace({ place, control, script: { calls: [{ tools: [bash("true")] }] } });
		const driver = await pauseAt(ws, "release.before", ["run", "hello"]);
		const agent = await onlyAgent(ws);
		await leaveMail(ws, agent, "late");
		expect(await driver.resume()).toMatchObject({ code: 10 });
		expect(consults(place)).toHaveLength(2);
		expect(readdirSync(ws.path("ws/inbox", agent))).toEqual(["user-001.md"]);
		expect(messagesOf(ws, agent)).toEqual(["hello"]);
	},
);

verifies("core-13", "mail that comes in at the release of an agent at its limit starts a new count", async () => {
	const ws = await createWorkspace({ script: { calls: [{ tools: [bash("true")] }, { say: "done" }] } });
	const driver = await pauseAt(ws, "release.before", ["run", "--max-steps", "1", "hello"]);
	const agent = await onlyAgent(ws);
	await leaveMail(ws, agent, "go on");
	expect(await driver.resume()).toMatchObject({ code: 0 });
	expect(messagesOf(ws, agent)).toEqual(["hello", "go on"]);
	expect(ws.entries(agent).at(-1)?.text).toContain("done");
});
