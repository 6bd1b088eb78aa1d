import { expect } from "vitest";
import { answerCalls, batch, createBatchWorkspace, named, ranTools, sectionsOf } from "../support/batch.ts";
import { createPlace, processesNaming } from "../support/place.ts";
import { faultsOf, transcriptOf } from "../support/transcript.ts";
import { verifies } from "../support/verifies.ts";
import { crashAt, HOLD, quiet, recorded } from "../support/window.ts";
import type { Workspace } from "../support/workspace.ts";

const UNKNOWN = "unknown whether the call ran";
const NOT_STARTED = "certainly not started";

const behind = { id: "t2", name: "behind" };
const NAMES = ["alpha", "beta", "gamma"];
const TOOLS = { alpha: "echo one > one", beta: "", gamma: "", behind: "" };

const dies = async (ws: Workspace, site: string): Promise<string> => {
	const ran = await ws.run("go", crashAt(site));
	expect(ran, `${site} was not passed: ${ran.stderr}`).toMatchObject({ code: null, signal: "SIGKILL" });
	return ran.agent;
};

/** Drives a killed agent on, and checks what holds wherever it died; answers its two results. */
const recover = async (ws: Workspace, agent: string, flags: readonly string[] = []) => {
	const before = ranTools(ws);
	const records = recorded(ws, agent);
	const ran = await ws.advance(agent, { flags });
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	await quiet(ws);
	// Nothing was started by the next drive; what was spawned at the kill may have come to its note before it was ended.
	expect(recorded(ws, agent)).toEqual(records);
	const after = ranTools(ws);
	expect(after.slice(0, before.length)).toEqual(before);
	expect(new Set(after).size, `run twice: ${after.join()}`).toBe(after.length);
	expect(after.length).toBeLessThanOrEqual(records.length);
	expect(faultsOf(transcriptOf(ws, agent))).toEqual([]);
	const [first, second, ...more] = ws.results(agent);
	expect([first?.id, second?.id, more]).toEqual(["t1", "t2", []]);
	return { first: first?.text ?? "", second: second?.text ?? "" };
};

/** Where the driver dies, how many entries are on record then, and how many of them have certainly run. */
const SERIAL: readonly (readonly [string, number, number])[] = [
	["consult.sent#1", 0, 0],
	["consult.answered#2", 0, 0],
	["tool.input#1", 1, 0],
	["tool.spawned#1", 1, 0],
	["tool.output#1", 1, 1],
	["consult.sent#3", 1, 1],
	["tool.input#2", 2, 1],
	["tool.spawned#2", 2, 1],
	["tool.process#3", 3, 2],
	["tool.output#3", 3, 3],
	["snapshot.done#1", 3, 3],
];

for (const [site, entries, least] of SERIAL)
	verifies("multi-tool-killed", `in series, killed at ${site}`, async () => {
		const ws = await createBatchWorkspace([batch(named(...NAMES)), behind], { tools: TOOLS });
		const agent = await dies(ws, site);
		expect(recorded(ws, agent)).toEqual(NAMES.slice(0, entries).map((_, at) => `001/t1-${at + 1}`));
		expect(ranTools(ws).length).toBeGreaterThanOrEqual(least);
		const { first, second } = await recover(ws, agent);
		expect(first).toContain(entries === 0 ? NOT_STARTED : UNKNOWN);
		expect(first).not.toMatch(/invocations:|Exit code:/);
		expect(second).toContain(NOT_STARTED);
		expect(ws.trailers(agent, "Lernie-Verdict")).toEqual(["not-started", entries === 0 ? "not-started" : "unknown"]);
		// What an entry wrote is in the record all the same.
		if (least > 0) expect(ws.git("show", `agents/${agent}:one`)).toBe("one\n");
	});

for (const site of [
	"consult.answered#2",
	"consult.sent#4",
	"tool.input#1",
	"tool.input#3",
	"tool.spawned#1",
	"tool.spawned#3",
	"tool.process#2",
	"tool.exited#1",
	"tool.output#1",
	"tool.output#3",
])
	verifies("multi-tool-killed", `in parallel, killed at ${site}`, async () => {
		const ws = await createBatchWorkspace([batch(named(...NAMES), { execution: "parallel" }), behind], {
			tools: TOOLS,
		});
		const agent = await dies(ws, site);
		const started = site.startsWith("tool.");
		expect(recorded(ws, agent).length > 0).toBe(started);
		const { first, second } = await recover(ws, agent);
		expect(first).toContain(started ? UNKNOWN : NOT_STARTED);
		expect(second).toContain(NOT_STARTED);
	});

verifies("multi-tool-killed", "killed behind its result, a batch keeps it", async () => {
	for (const [site, second] of [
		["result.ref#1", NOT_STARTED],
		["tool.input#4", UNKNOWN],
	] as const) {
		const ws = await createBatchWorkspace([batch(named(...NAMES)), behind], { tools: TOOLS });
		const agent = await dies(ws, site);
		const told = await recover(ws, agent);
		expect(sectionsOf(told.first).tally).toBe("3 invocations: 3 ok, 0 failed, 0 skipped");
		expect(told.second).toContain(second);
	}
});

for (const flags of [[], ["--hop"]])
	verifies(
		"multi-tool-killed-left",
		`what entries left running is ended by \`advance ${flags.join("")}\``,
		async () => {
			const place = createPlace();
			// The first entry ends once the others run; then the driver dies.
			const running = (name: string): string => place.path(`${name}.running`);
			const others = ["beta", "gamma"].map((name) => `while [ ! -e ${running(name)} ]; do sleep 0.01; done`);
			const ws = await createBatchWorkspace([batch(named(...NAMES), { execution: "parallel" }), behind], {
				place,
				tools: {
					alpha: others.join("; "),
					beta: `: > ${running("beta")}; exec sleep 300`,
					gamma: `: > ${running("gamma")}; setsid sleep 300 & exec sleep 300`,
					behind: "",
				},
			});
			const agent = await dies(ws, "tool.output#1");
			expect(processesNaming(ws.root).length).toBeGreaterThanOrEqual(3);
			const { first, second } = await recover(ws, agent, flags);
			expect(first).toContain(UNKNOWN);
			expect(second).toContain(NOT_STARTED);
		},
	);

verifies(
	"multi-tool-killed",
	"killed after a held batch was passed: not started, or unknown once an entry was",
	async () => {
		for (const [site, text] of [
			["mark.cleared", NOT_STARTED],
			["consult.sent#2", NOT_STARTED],
			["tool.input", UNKNOWN],
		] as const) {
			const ws = await createBatchWorkspace([batch(named(...NAMES)), behind], { tools: TOOLS, answers: { t1: HOLD } });
			const { agent } = await ws.run();
			answerCalls(ws, {});
			expect(await ws.advance(agent, crashAt(site))).toMatchObject({ signal: "SIGKILL" });
			expect(ws.mark(agent)).toBeUndefined();
			expect((await recover(ws, agent)).first).toContain(text);
		}
	},
);

verifies(
	"multi-tool-killed",
	"killed before a batch that a fault cut off was parked: the mark of nothing is left",
	async () => {
		const ws = await createBatchWorkspace([batch(named(...NAMES)), behind], {
			tools: TOOLS,
			answers: { "t1-1": "not a verdict" },
		});
		const agent = await dies(ws, "consult.answered#2");
		answerCalls(ws, {});
		expect((await recover(ws, agent)).first).toContain(NOT_STARTED);
	},
);

verifies(
	"multi-tool-killed",
	"killed between the result of a batch that a fault cut off and the calls behind it",
	async () => {
		const ws = await createBatchWorkspace([batch(named(...NAMES)), behind], {
			tools: TOOLS,
			answers: { beta: "not a verdict" },
		});
		const agent = await dies(ws, "result.ref#1");
		answerCalls(ws, {});
		const { first, second } = await recover(ws, agent);
		expect(sectionsOf(first).tally).toBe("3 invocations: 1 ok, 1 failed, 1 skipped");
		expect(second).toContain(NOT_STARTED);
		expect(ranTools(ws)).toEqual(["alpha"]);
	},
);
