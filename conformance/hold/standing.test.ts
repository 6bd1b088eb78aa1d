import { rmSync } from "node:fs";
import { expect } from "vitest";
import { answerWith, consults, ticks } from "../support/controls.ts";
import { until } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import {
	crashAt,
	createWindow,
	faultCode,
	files,
	HOLD,
	holdLease,
	leaveMail,
	mailOf,
	markText,
	quiet,
	setMark,
} from "../support/window.ts";

/** A workspace with an agent whose first call ran and whose second is held. */
const parked = async () => {
	const ws = await createWindow(2, { t2: HOLD });
	const { agent } = await ws.run();
	return { ws, agent, tip: ws.tip(agent), mark: ws.mark(agent) };
};

verifies("tools-88", "mail waits while a call is held and is delivered behind its result", async () => {
	const { ws, agent, tip } = await parked();
	const sent = await ws.in(["message", agent, "one more thing"]);
	expect(sent, sent.stderr).toMatchObject({ code: 0 });
	await until("the woken drive asked the control", () => consults(ws).length === 3);
	await quiet(ws);
	expect(ws.tip(agent)).toBe(tip);
	expect(mailOf(ws, agent)).toHaveLength(1);
	expect(consults(ws)).toHaveLength(3);

	answerWith(ws, {});
	const first = await ws.advance(agent, { flags: ["--hop"] });
	expect(first, first.stderr).toMatchObject({ code: 0 });
	expect(files(ws, agent).slice(2)).toEqual(["003-tool.json", "004-tool.json"]);
	expect(mailOf(ws, agent)).toHaveLength(1);
	const second = await ws.advance(agent, { flags: ["--hop"] });
	expect(second, second.stderr).toMatchObject({ code: 0 });
	expect(files(ws, agent).slice(4)).toEqual(["005-user.md", "006-model-a.json"]);
	expect(mailOf(ws, agent)).toEqual([]);
	expect(ws.entries(agent)[4]?.text).toContain("one more thing");
	expect(ticks(ws)).toEqual(["alpha", "beta"]);
});

/** An agent at rest, all its calls answered, with a mark that speaks of one of them. */
const stale = async () => {
	const ws = await createWindow(1);
	const { agent } = await ws.run();
	setMark(ws, agent, markText("t1"));
	return { ws, agent, tip: ws.tip(agent) };
};

verifies("tools-89", "a mark of an answered call is swept, without a look at the configuration", async () => {
	const { ws, agent, tip } = await stale();
	ws.write("home/models.yaml", "nonsense: [");
	const ran = await ws.advance(agent);
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ws.mark(agent)).toBeUndefined();
	expect(ws.tip(agent)).toBe(tip);
	expect(consults(ws)).toHaveLength(1);
	expect(ticks(ws)).toEqual(["alpha"]);
});

verifies("tools-90", "a mark of another call is swept; whether the open one ran is then not known", async () => {
	const ws = await createWindow(1);
	const { agent } = await ws.run("go", crashAt("entry.ref"));
	setMark(ws, agent, markText("t9"));
	const ran = await ws.advance(agent);
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ws.mark(agent)).toBeUndefined();
	expect(ws.results(agent)).toMatchObject([
		{ id: "t1", isError: true, text: expect.stringContaining("It is unknown whether the call ran") },
	]);
	expect(ticks(ws)).toEqual([]);
	expect(consults(ws)).toEqual([]);
});

verifies("tools-91", "a stale mark that cannot be removed is a fault, and the next drive tries again", async () => {
	const { ws, agent, tip } = await stale();
	// Git takes this lock to delete a ref; a fresh one may be another git's and stays.
	const lock = ws.write("ws/repo.git/packed-refs.lock", "");
	const ran = await ws.advance(agent, { flags: ["--json"] });
	expect(ran, ran.stderr).toMatchObject({ code: 1 });
	expect(faultCode(ran)).toBe("HOLD_MARK_STALE");
	expect(ws.mark(agent)).toMatchObject({ tool_use_id: "t1" });
	rmSync(lock);
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ws.mark(agent)).toBeUndefined();
	expect(ws.tip(agent)).toBe(tip);
});

verifies(
	"tools-92",
	"a held agent whose directory is gone stays held: nobody is asked and nothing is made",
	async () => {
		const { ws, agent, tip, mark } = await parked();
		rmSync(ws.path("ws/agents", agent), { recursive: true });
		leaveMail(ws, agent, "hello");
		answerWith(ws, {});
		const ran = await ws.advance(agent);
		expect(ran, ran.stderr).toMatchObject({ code: 10 });
		expect({ tip: ws.tip(agent), mark: ws.mark(agent) }).toEqual({ tip, mark });
		expect(mailOf(ws, agent)).toHaveLength(1);
		expect(ws.exists(`ws/agents/${agent}`)).toBe(false);
		expect(consults(ws)).toHaveLength(2);
	},
);

verifies("tools-95", "a held agent that another process drives is left to it", async () => {
	const { ws, agent, tip, mark } = await parked();
	answerWith(ws, {});
	const release = await holdLease(ws, agent);
	const ran = await ws.advance(agent);
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(consults(ws)).toHaveLength(2);
	expect({ tip: ws.tip(agent), mark: ws.mark(agent) }).toEqual({ tip, mark });
	await release();
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["alpha", "beta"]);
});

verifies("tools-98", "a configuration that does not load leaves a held call held", async () => {
	const { ws, agent, mark } = await parked();
	answerWith(ws, {});
	ws.reconfigure(agent, { workflow: { nonsense: true } });
	const ran = await ws.advance(agent, { flags: ["--json"] });
	expect(ran, ran.stderr).toMatchObject({ code: 3 });
	expect(faultCode(ran)).toBe("CONFIG");
	expect(ws.mark(agent)).toEqual(mark);
	expect(consults(ws)).toHaveLength(2);
	ws.reconfigure(agent, {});
	expect(await ws.advance(agent)).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["alpha", "beta"]);
});
