import { expect } from "vitest";
import { answerWith, consults, PASS, shellControl, ticks, tickTool } from "../support/controls.ts";
import { createPlace } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { createWindow, faultCode, files, HOLD, recorded, steps } from "../support/window.ts";

const idsAsked = (lines: readonly string[]): readonly string[] =>
	lines.map((line) => (JSON.parse(line) as { id: string }).id);

/** A workspace with an agent whose first call ran and whose second is held. */
const parked = async (count: 2 | 3 = 2, options: Parameters<typeof createWindow>[2] = {}) => {
	const ws = await createWindow(count, { t2: HOLD }, options);
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 10 });
	expect(ws.mark(ran.agent)).toMatchObject({ tool_use_id: "t2" });
	return { ws, agent: ran.agent };
};

verifies("tools-72", "a pass runs the held call alone, and its result comes next in the transcript", async () => {
	const { ws, agent } = await parked();
	answerWith(ws, {});
	const ran = await ws.advance(agent);
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["alpha", "beta"]);
	expect(idsAsked(consults(ws))).toEqual(["t1", "t2", "t2"]);
	expect(ws.mark(agent)).toBeUndefined();
	expect(files(ws, agent)).toEqual([
		"001-user.md",
		"002-model-a.json",
		"003-tool.json",
		"004-tool.json",
		"005-model-a.json",
	]);
	expect(ws.results(agent).map(({ id }) => id)).toEqual(["t1", "t2"]);
	expect(recorded(ws, agent)).toEqual(["001/t1", "001/t2"]);
});

verifies("tools-74", "another hold changes the reason and nothing else", async () => {
	const { ws, agent } = await parked();
	const { tip, mark } = { tip: ws.tip(agent), mark: ws.mark(agent) };
	answerWith(ws, { t2: '{"verdict":"hold","reason":"ask again on Monday"}' });
	const ran = await ws.advance(agent);
	expect(ran, ran.stderr).toMatchObject({ code: 10 });
	expect(ws.mark(agent)).toEqual({ ...mark, reason: "ask again on Monday" });
	expect(ws.tip(agent)).toBe(tip);
	expect(ticks(ws)).toEqual(["alpha"]);
});

verifies("tools-75", "once the held call has run, the next one can be held", async () => {
	const { ws, agent } = await parked(3);
	answerWith(ws, { t3: HOLD });
	const ran = await ws.advance(agent);
	expect(ran, ran.stderr).toMatchObject({ code: 10 });
	expect(ws.results(agent).map(({ id }) => id)).toEqual(["t1", "t2"]);
	expect(ws.mark(agent)).toMatchObject({ tool_use_id: "t3", tool: "gamma", entry: "002" });
	expect(ticks(ws)).toEqual(["alpha", "beta"]);
});

verifies(
	"tools-76",
	"a control that fails on a held call leaves it parked, and the next drive asks again",
	async () => {
		const { ws, agent } = await parked();
		const { tip, mark } = { tip: ws.tip(agent), mark: ws.mark(agent) };
		for (const _ of [1, 2]) {
			answerWith(ws, { t2: "not json" });
			const ran = await ws.advance(agent);
			expect(ran, ran.stderr).toMatchObject({ code: 14 });
			expect(ws.mark(agent)).toEqual({ ...mark, kind: "fault", reason: expect.stringMatching(/^control fault: /) });
			expect(ws.tip(agent)).toBe(tip);
		}
		expect(idsAsked(consults(ws))).toEqual(["t1", "t2", "t2", "t2"]);
		answerWith(ws, { t2: HOLD });
		expect(await ws.advance(agent)).toMatchObject({ code: 10 });
		expect(ws.mark(agent)).toEqual(mark);
		expect(ticks(ws)).toEqual(["alpha"]);
	},
);

verifies("tools-77", "a mark that cannot be removed is a fault: the call does not run and stays parked", async () => {
	const place = createPlace();
	const lock = "repo.git/refs/lernie/held/$LERNIE_CONV_BRANCH.lock";
	const first = shellControl(
		place,
		`case "$request" in *'"t2"'*) printf '%s' '${HOLD}';; *) printf '%s' '${PASS}';; esac`,
	);
	const { ws, agent } = await parked(2, { place, control: first });
	const { tip, mark } = { tip: ws.tip(agent), mark: ws.mark(agent) };
	shellControl(place, `: > "${lock}"; printf '%s' '${PASS}'`);
	const ran = await ws.advance(agent, { flags: ["--json"] });
	expect(ran, ran.stderr).toMatchObject({ code: 1 });
	expect(faultCode(ran)).toBe("HOLD_MARK_CLEAR");
	expect({ tip: ws.tip(agent), mark: ws.mark(agent) }).toEqual({ tip, mark });
	expect(recorded(ws, agent)).toEqual(["001/t1"]);
	// The lock is one that a killed git could have left: the next drive takes it away and goes on.
	shellControl(place, `printf '%s' '${PASS}'`);
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["alpha", "beta"]);
});

verifies("tools-78", "with the control taken away the held call runs, and nothing is asked", async () => {
	const { ws, agent } = await parked();
	ws.reconfigure(agent, { control: "none" });
	const ran = await ws.advance(agent);
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["alpha", "beta"]);
	expect(consults(ws)).toHaveLength(2);
	expect(ws.mark(agent)).toBeUndefined();
	expect(ws.trailers(agent, "Lernie-Verdict")).toEqual(["none", "pass"]);
});

verifies("tools-79", "another control is the one that is asked", async () => {
	const { ws, agent } = await parked();
	const other = ws.script("other-control", `#!/bin/sh\ncat > ${ws.path("asked.json")}\nprintf '%s' '${PASS}'\n`);
	ws.reconfigure(agent, { control: other });
	const ran = await ws.advance(agent);
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(consults(ws)).toHaveLength(2);
	expect(JSON.parse(ws.read("asked.json"))).toMatchObject({ id: "t2", name: "beta" });
	expect(ticks(ws)).toEqual(["alpha", "beta"]);
	expect(ws.trailers(agent, "Lernie-Control")[0]).toContain(other);
});

verifies("tools-81", "a control is shown a held call again in the same bytes", async () => {
	const { ws, agent } = await parked();
	const { digest } = ws.mark(agent) ?? {};
	answerWith(ws, {});
	await ws.advance(agent);
	const [, first, again] = consults(ws);
	expect(again).toBe(first);
	expect(ws.trailers(agent, "Lernie-Digest")[0]).toBe(digest);
});

verifies(
	"tools-82",
	"a call that takes the drive down with it, once released, is reported as unknown and never run again",
	async () => {
		const { ws, agent } = await parked();
		tickTool(ws, "beta", "kill -KILL $$");
		answerWith(ws, {});
		const fault = await ws.advance(agent, { flags: ["--json"] });
		expect(fault, fault.stderr).toMatchObject({ code: 1 });
		expect(faultCode(fault)).toBe("TOOL_KILLED");
		expect(ws.mark(agent)).toBeUndefined();
		const ran = await ws.advance(agent);
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(ticks(ws)).toEqual(["alpha", "beta"]);
		const [, settled] = ws.results(agent);
		expect(settled).toMatchObject({ id: "t2", isError: true });
		expect(settled?.text).toContain("died before recording an outcome");
		expect(settled?.text).toContain("unknown whether");
	},
);

verifies(
	"tools-82",
	"a driver that dies between the release of a call and its start: the call is reported as not started",
	async () => {
		const { ws, agent } = await parked();
		answerWith(ws, {});
		expect(await ws.advance(agent, { env: { LERNIE_CRASH_AT: "mark.cleared" } })).toMatchObject({ signal: "SIGKILL" });
		expect(ws.mark(agent)).toBeUndefined();
		const ran = await ws.advance(agent);
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(ws.results(agent)[1]).toMatchObject({ id: "t2", text: expect.stringContaining("certainly not started") });
		expect(ticks(ws)).toEqual(["alpha"]);
	},
);

verifies("tools-83", "a held call of a tool the role has lost is declined, and its mark goes with it", async () => {
	const { ws, agent } = await parked();
	ws.reconfigure(agent, { tools: ["alpha", "gamma"] });
	const before = ws.tip(agent);
	const early = await ws.advance(agent, { env: { LERNIE_CRASH_AT: "entry.objects" } });
	expect(early).toMatchObject({ signal: "SIGKILL" });
	expect(ws.tip(agent)).toBe(before);
	expect(ws.mark(agent)).toMatchObject({ tool_use_id: "t2" });
	const late = await ws.advance(agent, { env: { LERNIE_CRASH_AT: "result.ref" } });
	expect(late).toMatchObject({ signal: "SIGKILL" });
	expect(ws.mark(agent)).toBeUndefined();
	expect(ws.results(agent)[1]).toMatchObject({
		id: "t2",
		isError: true,
		text: expect.stringContaining("alpha, gamma"),
	});
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["alpha"]);
	expect(consults(ws)).toHaveLength(2);
	expect(ws.results(agent)).toHaveLength(2);
});

verifies("tools-84", "a held call whose id an earlier turn used runs once when it is released", async () => {
	const script = { calls: [{ tools: [{ name: "alpha" }] }, { tools: [{ name: "beta" }] }, { say: "done" }] };
	const ws = await createWindow(1, { beta: HOLD }, { script });
	const held = await ws.run();
	const { agent } = held;
	expect(held, held.stderr).toMatchObject({ code: 10 });
	expect(ws.mark(agent)).toMatchObject({ tool_use_id: "call_1", tool: "beta", entry: "004" });
	answerWith(ws, {});
	const ran = await ws.advance(agent);
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["alpha", "beta"]);
	expect(ws.results(agent).map(({ id }) => id)).toEqual(["call_1", "call_1"]);
	expect(ws.mark(agent)).toBeUndefined();
	expect(recorded(ws, agent)).toEqual(["001/call_1", "002/call_1"]);
});

verifies("tools-85", "a hop that releases a held call makes no model call", async () => {
	const { ws, agent } = await parked();
	answerWith(ws, {});
	const hop = await ws.advance(agent, { flags: ["--hop"] });
	expect(hop, hop.stderr).toMatchObject({ code: 0 });
	expect(files(ws, agent).at(-1)).toBe("004-tool.json");
	expect(steps(ws, agent)).toBe(1);
	const next = await ws.advance(agent, { flags: ["--hop"] });
	expect(next, next.stderr).toMatchObject({ code: 0 });
	expect(files(ws, agent).at(-1)).toBe("005-model-a.json");
	expect(steps(ws, agent)).toBe(2);
	expect(ticks(ws)).toEqual(["alpha", "beta"]);
});
