import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { expect } from "vitest";
import { ticks, tickTool } from "../support/controls.ts";
import { createPlace, until } from "../support/place.ts";
import { runCalls, scriptPast } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

verifies("core-12", "of two drives at once one drives and the other leaves at once with 0", async () => {
	const place = createPlace();
	const gate = place.path("gate");
	tickTool(place, "wait", `while [ ! -e ${gate} ]; do sleep 0.02; done`);
	const calls = [{ attempts: [{ error: { status: 400 } }] }];
	const ws = await createWorkspace({ place, script: { calls }, tools: ["wait"] });
	const { agent } = await ws.run();
	ws.setScript({ calls: [{ tools: [{ name: "wait" }] }, { say: "done" }] });
	const drives = [1, 2].map(() =>
		ws.start(["-w", ws.dir, "advance", agent], { env: { LERNIE_SCRIPT: place.path("script.yaml") } }),
	);
	const first = await Promise.race(drives.map(async (drive, at) => ({ at, ran: await drive.ended })));
	expect(first.ran).toMatchObject({ code: 0, stdout: "" });
	await until("the other one to be at work", () => ticks(place).length === 1);
	expect(ws.results(agent)).toEqual([]);
	place.write("gate", "");
	expect((await drives[1 - first.at]?.ended)?.code).toBe(0);
	expect(ticks(place)).toEqual(["wait"]);
	expect(ws.entries(agent).map(({ number }) => number)).toEqual([1, 2, 3, 4]);
});

verifies("core-12", "ten messages at once are ten entries, none lost", async () => {
	const ws = await createWorkspace({ script: scriptPast("end", [{ say: "first" }]) });
	const { agent } = await ws.run();
	const texts = Array.from({ length: 10 }, (_, at) => `message number ${at}`);
	const sent = await Promise.all(texts.map((text) => ws.in(["message", agent, text])));
	expect(sent.map(({ code }) => code)).toEqual(texts.map(() => 0));
	const users = () => ws.entries(agent).filter(({ file }) => file.endsWith("-user.md"));
	await until(
		"every message to be answered",
		() => users().length === 11 && ws.entries(agent).at(-1)?.file.endsWith(".json"),
	);
	expect(
		users()
			.slice(1)
			.map(({ text }) => text.split("---\n")[2])
			.sort(),
	).toEqual(texts);
	expect(readdirSync(ws.path("ws/inbox", agent))).toEqual([]);
	const numbers = ws.entries(agent).map(({ number }) => number);
	expect(numbers).toEqual(numbers.map((_, at) => at + 1));
});

for (const when of ["before", "after"] as const)
	verifies(
		"core-13",
		`a message that comes in right ${when} the lease is dropped is delivered by the drive that drops it`,
		async () => {
			const place = createPlace();
			place.write(
				"late.md",
				"---\nfrom: user\ndeposited_at: 2030-01-01T00:00:00Z\ndeposit: 0123456789abcdef\n---\nlate\n",
			);
			const drop = `mkdir ${place.path("dropped")} 2>/dev/null && for d in ${place.path("ws/inbox")}/*; do cp ${place.path("late.md")} $d/user-001.md; done`;
			const real = execFileSync("sh", ["-c", "command -v flock"], { encoding: "utf8" }).trim();
			const lines = when === "before" ? [drop, `${real} "$@"`] : [`${real} "$@"`, drop];
			place.script("bin/flock", `#!/bin/sh\n[ "$1" = -u ] || exec ${real} "$@"\n${lines.join("\n")}\nexit 0\n`);
			const env = { PATH: `${place.path("bin")}:${place.env.PATH}` };
			const { ran, agent, ws } = await runCalls([{ name: "cd", input: { path: "." } }], {
				place,
				run: { env },
				after: [{ say: "one" }, { say: "two" }],
			});
			expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "one\ntwo\n" });
			expect(place.exists("dropped")).toBe(true);
			expect(
				ws
					.entries(agent)
					.map(({ file }) => file)
					.slice(3),
			).toEqual(["004-model-a.json", "005-user.md", "006-model-a.json"]);
			expect(readdirSync(place.path("ws/inbox", agent))).toEqual([]);
		},
	);
