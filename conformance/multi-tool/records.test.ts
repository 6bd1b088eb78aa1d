import { callDirectory } from "@lernie/contract";
import { expect } from "vitest";
import { batch, createBatchWorkspace, type Invocation, named, notes, ranTools, sectionsOf } from "../support/batch.ts";
import { createPlace } from "../support/place.ts";
import { bash, type Call } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { recorded } from "../support/window.ts";

const numbered = (count: number): readonly Invocation[] =>
	Array.from({ length: count }, (_, n) => ({ name: "alpha", input: { n } }));

verifies("multi-tool-collision", "calls whose ids are those of entries have records of their own", async () => {
	const calls: readonly Call[] = [
		batch(named("alpha", "alpha", "alpha"), { id: "t1" }),
		{ id: "t1-1", name: "alpha" },
		{ id: "t1-3.m", name: "alpha" },
		batch(named("alpha"), { id: "t1-2" }),
		{ id: "t1-3", name: "alpha" },
	];
	const place = createPlace();
	const ws = await createBatchWorkspace(calls, {
		place,
		tools: { alpha: `printf '%s\\n' "\${LERNIE_CALL##*/}" >> ${place.path("marks.log")}` },
	});
	const { agent, code, stderr } = await ws.run();
	expect(code, stderr).toBe(0);
	const directories = ["t1-1.m", "t1-2.m", "t1-3.m.m", "t1-1", "t1-3.m", "t1-2-1", "t1-3"];
	expect(ws.read("marks.log").trimEnd().split("\n")).toEqual(directories);
	expect([...recorded(ws, agent)].sort()).toEqual(directories.map((name) => `001/${name}`).sort());
	const ids = directories.map((name) => JSON.parse(ws.read(`ws/steps/${agent}/001/tools/${name}/input.json`)).id);
	expect(ids).toEqual(["t1-1", "t1-2", "t1-3", "t1-1", "t1-3.m", "t1-2-1", "t1-3"]);
	expect(ws.results(agent).map(({ isError }) => isError)).toEqual(calls.map(() => false));
});

verifies("multi-tool-collision", "an id that is no name for a file gives none of its entries one", async () => {
	const ids = ["../../x", "a/b", "y".repeat(127), ".hidden", "t\u00e9"];
	const calls = [...ids, ""].map((id) => batch(named("alpha"), { id }));
	const ws = await createBatchWorkspace(calls);
	const { agent, code, stderr } = await ws.run();
	expect(code, stderr).toBe(0);
	// The empty id was given one before anybody saw it.
	const inner = [...ids, "call~1"].map((id) => `${id}-1`);
	expect([...recorded(ws, agent)].sort()).toEqual(inner.map((id) => `001/${callDirectory(id)}`).sort());
	expect(ranTools(ws)).toHaveLength(6);
	expect(ws.exists(`ws/steps/${agent}/x-1`)).toBe(false);
});

verifies("multi-tool-bounded", "the output of each entry is cut by itself, and its record is whole", async () => {
	const flood = "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done";
	const ws = await createBatchWorkspace([batch(named("alpha", "beta", "alpha")), { id: "t1-3", name: "beta" }], {
		tools: { alpha: flood, beta: "echo short" },
		workflow: { tool_output: { head_bytes: 7, tail_bytes: 10 } },
	});
	const { agent } = await ws.run();
	const { sections } = sectionsOf(ws.results(agent)[0]?.text ?? "");
	const whole = Array.from({ length: 2000 }, (_, n) => `line ${n}\n`).join("");
	const cut = (directory: string): string =>
		`Exit code: 0\nline 0\n[... stdout truncated: ${whole.length} bytes / 2000 lines total; showing the first 7 and last 10 ` +
		`bytes; full record: steps/${agent}/001/tools/${directory}/output.json ...]\nline 1999\n`;
	expect(sections.map(({ text }) => text)).toEqual([cut("t1-1"), "Exit code: 0\nshort\n", cut("t1-3.m")]);
	for (const directory of ["t1-1", "t1-3.m"]) {
		const { stdout } = JSON.parse(ws.read(`ws/steps/${agent}/001/tools/${directory}/output.json`));
		expect(stdout).toBe(whole);
	}
});

for (const execution of ["serial", "parallel"])
	verifies("multi-tool-hundred", `a hundred entries, ${execution}, each run once`, async () => {
		const ws = await createBatchWorkspace([batch(numbered(100), { execution })], { control: "none" });
		const { agent, code, stderr } = await ws.run();
		expect(code, stderr).toBe(0);
		const { tally, sections } = sectionsOf(ws.results(agent)[0]?.text ?? "");
		expect(tally).toBe("100 invocations: 100 ok, 0 failed, 0 skipped");
		expect(sections).toHaveLength(100);
		const wanted = Array.from({ length: 100 }, (_, n) => `alpha {"n":${n}}`);
		if (execution === "serial") expect(notes(ws)).toEqual(wanted);
		else expect([...notes(ws)].sort()).toEqual(wanted.sort());
		expect(recorded(ws, agent)).toHaveLength(100);
		// Nothing of Node's own about listeners or the like.
		expect(stderr).not.toContain("Warning");
	});

verifies("tools-173", "an entry whose program cannot be started says so, and the run goes on", async () => {
	const place = createPlace();
	for (const name of ["broken", "gone"]) place.write(`home/tools/${name}.json`, '{"type":"object"}');
	place.write("home/tools/lernie-tool-broken", "#!/bin/sh\n");
	const entries = batch([...named("alpha", "broken"), ...named("beta")], { on_failure: "run_all" });
	const ws = await createBatchWorkspace([entries], { place, granted: ["broken"] });
	const { agent, code } = await ws.run();
	expect(code).toBe(0);
	const { sections } = sectionsOf(ws.results(agent)[0]?.text ?? "");
	expect(sections.map(({ status }) => status)).toEqual(["ok", "failed", "ok"]);
	expect(sections[1]?.text).toContain('The call to "broken" could not be started: ');
	expect(ranTools(ws)).toEqual(["alpha", "beta"]);
});

verifies("multi-tool-changed", "an entry whose program changed after all were judged is not run", async () => {
	const place = createPlace();
	const beta = place.path("home/tools/lernie-tool-beta");
	// Eight run at a time: the ninth starts when one of them has ended.
	const entries = named(...Array<string>(8).fill("alpha"), "beta");
	const ws = await createBatchWorkspace([batch(entries, { execution: "parallel" })], {
		place,
		tools: { alpha: `cp ${beta} ${beta}.$$; echo '# more' >> ${beta}.$$; mv ${beta}.$$ ${beta}`, beta: "" },
	});
	const { agent, code } = await ws.run();
	expect(code).toBe(0);
	const { tally, sections } = sectionsOf(ws.results(agent)[0]?.text ?? "");
	expect(tally).toBe("9 invocations: 8 ok, 1 failed, 0 skipped");
	expect(sections[8]?.text).toContain("changed after it was judged");
	expect(ranTools(ws)).not.toContain("beta");
});

for (const execution of ["serial", "parallel"])
	verifies("tools-175", `an entry's tool dies by a signal, ${execution}: a fault, and then unknown`, async () => {
		const ws = await createBatchWorkspace(
			[batch(named("alpha", "bad", "gamma"), { execution, on_failure: "run_all" }), { ...bash("echo x"), id: "t2" }],
			{ tools: { alpha: "", bad: "kill -KILL $$", gamma: "" }, granted: ["bash"] },
		);
		const ran = await ws.run();
		expect(ran.code, ran.stderr).toBe(1);
		expect(ran.stderr).toContain("tool bad: killed by signal 9");
		expect(ws.results(ran.agent)).toEqual([]);
		const before = ranTools(ws);
		expect([...before].sort()).toEqual(execution === "serial" ? ["alpha", "bad"] : ["alpha", "bad", "gamma"]);
		const next = await ws.advance(ran.agent);
		expect(next, next.stderr).toMatchObject({ code: 0 });
		expect(ws.results(ran.agent)).toMatchObject([
			{ id: "t1", isError: true, text: expect.stringContaining("unknown whether the call ran") },
			{ id: "t2", isError: true, text: expect.stringContaining("certainly not started") },
		]);
		expect(ranTools(ws)).toEqual(before);
	});

verifies("multi-tool-timeout", "a time limit ends the entry that is past it and no other", async () => {
	const entries = [{ name: "bash", input: { command: "sleep 300 & sleep 300" } }, ...named("alpha")];
	const ws = await createBatchWorkspace(
		[
			batch(entries, { id: "t1" }),
			batch(entries, { id: "t2", on_failure: "run_all" }),
			batch([...entries, ...entries], { id: "t3", execution: "parallel" }),
		],
		{ granted: ["bash"], workflow: { tool_timeout_seconds: 1, tool_grace_seconds: 1 } },
	);
	const { agent, code, stderr } = await ws.run();
	expect(code, stderr).toBe(0);
	const shown = ws.results(agent).map(({ text }) => sectionsOf(text).sections);
	expect(shown.map((sections) => sections.map(({ status }) => status))).toEqual([
		["failed", "skipped"],
		["failed", "ok"],
		["failed", "ok", "failed", "ok"],
	]);
	for (const sections of shown) expect(sections[0]?.text).toMatch(/^timed out after 1 s\n/);
	expect(ranTools(ws)).toEqual(["alpha", "alpha", "alpha"]);
});
