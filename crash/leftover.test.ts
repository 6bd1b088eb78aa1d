import { expect } from "vitest";
import { createPlace, isAlive, type Place, type Ran, until } from "../conformance/support/place.ts";
import { verifies } from "../conformance/support/verifies.ts";
import { createWorkspace, type Workspace } from "../conformance/support/workspace.ts";

/** A process with a child in a session of its own, both deaf to SIGTERM; its parent may go first. */
const slow = (parent: string): string => `#!/bin/sh
trap '' TERM
setsid sh -c 'while :; do sleep 60; done' &
echo "$$ $!" > "$LERNIE_HOME/slow.tmp"
mv "$LERNIE_HOME/slow.tmp" "$LERNIE_HOME/slow.pids"
${parent}
`;
const STAYS = "while :; do sleep 60; done";
const GOES = "exit 0";

const pidsOf = (place: Place): readonly number[] => {
	const [leader, child] = place.read("home/slow.pids").trim().split(" ").map(Number);
	if (leader === undefined || child === undefined) throw new Error("the tool did not say who it is");
	return [leader, child];
};

const CALLS = [{ tools: [{ name: "slow" }] }, { say: "done" }];

const createSlow = async (
	body: string,
	calls: readonly Readonly<Record<string, unknown>>[] = CALLS,
): Promise<Workspace> => {
	const place = createPlace();
	place.tool("slow", slow(body));
	place.tool(
		"probe",
		`#!/bin/sh\nfor pid in $(cat "$LERNIE_HOME/slow.pids"); do cat /proc/$pid/stat 2>&1; done; true\n`,
	);
	return createWorkspace({ place, script: { calls }, tools: ["slow", "probe", "bash"] });
};

const agentOf = (ws: Workspace): string =>
	ws.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/agents").trim();

/** The next drive ends what the dead one left, before it answers the call and long before the model goes on. */
const expectEnded = async (ws: Workspace): Promise<void> => {
	await until("the tool of the dead driver says who it is", () => ws.exists("home/slow.pids"));
	const pids = pidsOf(ws);
	expect(pids.some(isAlive), "the tool did not outlive its driver: nothing is tested").toBe(true);
	const agent = agentOf(ws);
	const drive = ws.start(["-w", ws.dir, "--json", "advance", agent], {
		env: { LERNIE_SCRIPT: ws.path("script.yaml") },
	});
	const answered = new Promise<void>((resolve) => {
		drive.process.stdout?.on("data", () => {
			if (drive.output().stdout.includes('"RECOVERED"')) resolve();
		});
	});
	await Promise.race([answered, drive.ended]);
	expect(pids.filter(isAlive), "alive when the open call was answered").toEqual([]);
	const ran: Ran = await drive.ended;
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ws.results(agent)[0]?.text).toContain("It is unknown whether the call ran");
};

for (const site of ["tool.spawned", "tool.process"])
	verifies("crash-leftover", `a deaf tool and its child are ended by the next drive: killed at ${site}`, async () => {
		const ws = await createSlow(STAYS);
		expect(await ws.run("go", { env: { LERNIE_CRASH_AT: site } })).toMatchObject({ signal: "SIGKILL" });
		await expectEnded(ws);
	});

verifies("crash-leftover", "a deaf tool and its child are ended by the next drive: killed while it runs", async () => {
	const ws = await createSlow(STAYS);
	const driver = ws.start(["-w", ws.dir, "run", "go"], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
	await until("the tool runs", () => ws.exists("home/slow.pids"));
	driver.process.kill("SIGKILL");
	await driver.ended;
	await expectEnded(ws);
});

verifies("crash-leftover", "a child whose parent is gone is found by its environment and ended", async () => {
	const ws = await createSlow(GOES);
	// The driver still waits for the stream that the child keeps open when it is killed.
	const driver = ws.start(["-w", ws.dir, "run", "go"], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
	await until("the tool has ended and left its child", () => {
		const [leader, child] = ws.exists("home/slow.pids") ? pidsOf(ws) : [];
		return leader !== undefined && child !== undefined && !isAlive(leader) && isAlive(child);
	});
	driver.process.kill("SIGKILL");
	await driver.ended;
	await expectEnded(ws);
});

verifies("crash-leftover", "what the shell tool started is ended too, and the next call sees it gone", async () => {
	const command = '"$LERNIE_HOME/tools/lernie-tool-slow"; echo never';
	const ws = await createSlow(STAYS, [
		{ tools: [{ name: "bash", input: { command } }] },
		{ tools: [{ name: "probe" }] },
		{ say: "done" },
	]);
	expect(await ws.run("go", { env: { LERNIE_CRASH_AT: "tool.process" } })).toMatchObject({ signal: "SIGKILL" });
	await expectEnded(ws);
	const seen = ws.results(agentOf(ws))[1]?.text ?? "";
	const running = seen.split("\n").filter((line) => /^\d+ \(.*\) [^ZX] /.test(line));
	expect(running, seen).toEqual([]);
});
