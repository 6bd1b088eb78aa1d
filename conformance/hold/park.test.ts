import { readdirSync } from "node:fs";
import { expect } from "vitest";
import { answerWith, consults, PASS, shellControl, tableControl, ticks } from "../support/controls.ts";
import { createPlace, processesNaming } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import {
	crashAt,
	createWindow,
	faultCode,
	files,
	HOLD,
	heldCalls,
	leaseFree,
	recorded,
	setMark,
	stateOf,
	steps,
} from "../support/window.ts";
import { digestOf } from "../support/workspace.ts";

verifies("tools-60", "a hold keeps the results before it and starts nothing at or after it", async () => {
	const ws = await createWindow(3, { t2: HOLD });
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 10, stdout: "" });
	expect(ws.results(ran.agent)).toMatchObject([{ id: "t1", isError: false }]);
	expect(ws.mark(ran.agent)).toMatchObject({ tool_use_id: "t2", tool: "beta", reason: "ask first", kind: "hold" });
	expect(consults(ws).map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(["t1", "t2"]);
	expect(ticks(ws)).toEqual(["alpha"]);
	expect(recorded(ws, ran.agent)).toEqual(["001/t1"]);
});

verifies("tools-61", "a mark is one line of JSON under the agent's own ref, and every field is a text", async () => {
	const ws = await createWindow(2, { t2: HOLD });
	const { agent } = await ws.run();
	const refs = ws.git("for-each-ref", "--format=%(refname) %(objecttype)", "refs/lernie/held/");
	expect(refs).toBe(`refs/lernie/held/${agent} blob\n`);
	const text = ws.git("cat-file", "blob", `refs/lernie/held/${agent}`);
	expect(text).not.toContain("\n");
	const mark = JSON.parse(text) as Record<string, unknown>;
	expect(Object.keys(mark)).toEqual(["tool_use_id", "tool", "reason", "kind", "digest", "entry", "since"]);
	expect(mark).toEqual({
		tool_use_id: "t2",
		tool: "beta",
		reason: "ask first",
		kind: "hold",
		digest: digestOf({ id: "t2", name: "beta", input: '{"n":2}' }, agent),
		entry: "002",
		since: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
	});
});

verifies("tools-62", "a reason of several lines comes back as it was given", async () => {
	const reason = 'first line\nsecond\tline, "quoted" \\ and ünïcode \u2028 \u0007\n\n  last line\n';
	const ws = await createWindow(1, { t1: JSON.stringify({ verdict: "hold", reason }) });
	const { agent } = await ws.run();
	expect(ws.mark(agent)?.reason).toBe(reason);
	expect((await heldCalls(ws)).map((held) => held.reason)).toEqual([reason]);
});

verifies("tools-63", "a mark leaves no file beside the repository or in it", async () => {
	const ws = await createWindow(1, { t1: HOLD });
	const before = [ws.root, ws.dir].map((path) => readdirSync(path));
	await ws.run();
	const logs = ["consults.log"];
	expect(readdirSync(ws.root).filter((name) => !logs.includes(name))).toEqual(before[0]);
	expect(readdirSync(ws.dir)).toEqual(before[1]);
	const stray = readdirSync(ws.repo, { recursive: true, encoding: "utf8" }).filter((path) =>
		/tmp|temp|\.lock$/.test(path),
	);
	expect(stray).toEqual([]);
});

verifies("tools-64", "the newest mark wins, a lifted one is gone, and there is none before the first", async () => {
	const ws = await createWindow(1, { t1: HOLD });
	expect(await heldCalls(ws)).toEqual([]);
	const { agent } = await ws.run();
	const { since } = ws.mark(agent) ?? {};
	answerWith(ws, { t1: '{"verdict":"hold","reason":"still no"}' });
	expect(await ws.advance(agent)).toMatchObject({ code: 10 });
	expect(ws.mark(agent)).toMatchObject({ tool_use_id: "t1", reason: "still no", since });
	expect((await heldCalls(ws)).map(({ reason }) => reason)).toEqual(["still no"]);
	answerWith(ws, {});
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ws.mark(agent)).toBeUndefined();
	expect(await heldCalls(ws)).toEqual([]);
});

for (const [what, blob] of [
	["is no JSON", "not json"],
	["has no reason", '{"tool_use_id":"t1","tool":"alpha"}'],
	["has a reason that is no text", '{"tool_use_id":"t1","tool":"alpha","reason":5}'],
	["is empty", ""],
] as const)
	verifies(
		"tools-65",
		`a mark that ${what} reads as none: nothing runs, and it is not known whether it did`,
		async () => {
			const ws = await createWindow(1, { t1: HOLD });
			const { agent } = await ws.run();
			setMark(ws, agent, blob);
			expect(await heldCalls(ws)).toEqual([]);
			answerWith(ws, {});
			const ran = await ws.advance(agent);
			expect(ran, ran.stderr).toMatchObject({ code: 0 });
			expect(ticks(ws)).toEqual([]);
			expect(ws.results(agent)).toMatchObject([
				{ id: "t1", isError: true, text: expect.stringContaining("It is unknown whether the call ran") },
			]);
			expect(ws.git("for-each-ref", "refs/lernie/held/")).toBe("");
		},
	);

verifies("tools-65", "a mark that is no blob reads as none, and the marks of others are still listed", async () => {
	const ws = await createWindow(1, { t1: HOLD });
	const [broken, whole] = [await ws.run("one"), await ws.run("two")];
	ws.git("update-ref", `refs/lernie/held/${broken.agent}`, ws.tip(broken.agent));
	expect((await heldCalls(ws)).map(({ agent }) => agent)).toEqual([whole.agent]);
	const ran = await ws.advance(broken.agent);
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ws.git("for-each-ref", `refs/lernie/held/${broken.agent}`)).toBe("");
	expect(ticks(ws)).toEqual([]);
});

verifies(
	"tools-61",
	"a mark with the three fields of the reference holds a call, and further fields do no harm",
	async () => {
		const ws = await createWindow(1, { t1: HOLD });
		const { agent } = await ws.run();
		setMark(ws, agent, '{"tool_use_id":"t1","tool":"alpha","reason":"theirs","since":"now","more":[1]}');
		expect((await heldCalls(ws)).map(({ reason }) => reason)).toEqual(["theirs"]);
		expect(await ws.advance(agent)).toMatchObject({ code: 10 });
		answerWith(ws, {});
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ticks(ws)).toEqual(["alpha"]);
	},
);

verifies(
	"tools-67",
	"a fresh hold ends the drive: exit 10, nobody holds the agent and nobody was started",
	async () => {
		const ws = await createWindow(1, { t1: HOLD });
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 10 });
		expect(processesNaming(ws.root)).toEqual([]);
		expect(leaseFree(ws, ran.agent)).toBe(true);
		expect(ran.stderr).toContain("HELD: ask first");
		expect(await stateOf(ws, ran.agent)).toBe("held");
		expect(consults(ws)).toHaveLength(1);
	},
);

verifies("tools-68", "a mark that cannot be written is a fault and the call does not run", async () => {
	const place = createPlace();
	// A ref below the mark's name keeps git from creating the mark.
	const block = 'git -C repo.git update-ref "refs/lernie/held/$LERNIE_CONV_BRANCH/x" "agents/$LERNIE_CONV_BRANCH"';
	const ws = await createWindow(1, {}, { place, control: shellControl(place, `${block}; printf '%s' '${HOLD}'`) });
	const ran = await ws.run("go", { flags: ["--json"] });
	expect(ran, ran.stderr).toMatchObject({ code: 1 });
	expect(faultCode(ran)).toBe("HOLD_MARK_WRITE");
	expect(ticks(ws)).toEqual([]);
	const [agent = ""] = readdirSync(ws.path("ws/steps"));
	expect(files(ws, agent)).toEqual(["001-user.md", "002-model-a.json"]);
	expect(recorded(ws, agent)).toEqual([]);
});

verifies("tools-71", "a parked agent looks like one at rest; only the mark shows the hold", async () => {
	const ws = await createWindow(1, { t1: HOLD });
	const { agent } = await ws.run();
	const response = ws.read(`ws/steps/${agent}/001/response.json`).trimEnd().split("\n");
	expect(response.at(-1)).toBe('{"type":"end"}');
	expect(leaseFree(ws, agent)).toBe(true);
	expect(await stateOf(ws, agent)).toBe("held");
	ws.git("update-ref", "-d", `refs/lernie/held/${agent}`);
	expect(await stateOf(ws, agent)).not.toBe("held");
	expect(await heldCalls(ws)).toEqual([]);
});

verifies("tools-60", "a driver that dies right after the mark leaves the agent parked", async () => {
	const place = createPlace();
	const ws = await createWindow(2, {}, { place, control: tableControl(place, { t2: HOLD }) });
	const ran = await ws.run("go", crashAt("mark.written"));
	expect(ran).toMatchObject({ code: null, signal: "SIGKILL" });
	expect(ws.mark(ran.agent)).toMatchObject({ tool_use_id: "t2", kind: "hold" });
	answerWith(place, { t2: PASS });
	expect(await ws.advance(ran.agent)).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["alpha", "beta"]);
	expect(steps(ws, ran.agent)).toBe(2);
});
