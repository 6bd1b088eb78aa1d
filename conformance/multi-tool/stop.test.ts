import { expect } from "vitest";
import { batch, createBatchWorkspace, type Invocation, named, ranTools, sectionsOf } from "../support/batch.ts";
import { PASS, shellControl } from "../support/controls.ts";
import { pauseAt } from "../support/paused.ts";
import { createPlace, type Place, type Ran, until } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { recorded, stateOf } from "../support/window.ts";
import type { Workspace } from "../support/workspace.ts";

const DURING = "was stopped while it ran";
const BEFORE = "was stopped before it started";

const begun = (place: Place, name: string): string => place.path(`${name}.begun`);

/** What a tool does that is found running: it says so and goes on until it is ended. */
const stall = (place: Place, name: string): string => `: > ${begun(place, name)}; exec sleep 300`;

/** The same, but it decides itself what a SIGTERM does to it. */
const trapping = (place: Place, name: string, trap: string): string =>
	`exec 2> /dev/null; trap '${trap}' TERM; : > ${begun(place, name)}; while :; do sleep 0.05; done`;

/** A control that never answers about one call. */
const stallingControl = (place: Place, id: string): string =>
	shellControl(
		place,
		`case "$request" in '{"id":"${id}"'*) : > ${begun(place, id)}; exec sleep 300;; esac; printf '%s' '${PASS}'`,
	);

type Stopped = Pick<Ran, "code" | "stderr"> & { readonly agent: string };

const agentOf = (stderr: string): string => /^agent (\S+)/.exec(stderr)?.[1] ?? "";

/** Runs an agent and stops it once all of these have begun. */
const stopWhen = async (ws: Workspace, names: readonly string[]): Promise<Stopped> => {
	const started = ws.start(["-w", ws.dir, "run", "go"], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
	await until(`${names.join()} begun`, () => names.every((name) => ws.exists(`${name}.begun`)));
	started.process.kill("SIGTERM");
	const ran = await started.ended;
	return { ...ran, agent: agentOf(ran.stderr) };
};

/** That the batch and the call behind it are answered so, and that the agent goes on without running anything again. */
const expectSettled = async (ws: Workspace, ran: Stopped, text: string): Promise<void> => {
	const { agent } = ran;
	expect(ran.code, ran.stderr).toBe(11);
	const results = ws.results(agent);
	expect(results.map(({ id, isError }) => [id, isError])).toEqual([
		["t1", true],
		["t2", true],
	]);
	for (const result of results) expect(result.text).toContain("did not return");
	expect(results[0]?.text).toContain(text);
	expect(results[1]?.text).toContain(BEFORE);
	for (const { text: told } of results) expect(told).not.toMatch(/invocations:|Exit code:/);
	expect(ws.trailers(agent, "Lernie-Verdict")).toEqual(["stopped", "stopped"]);
	expect(ws.mark(agent)).toBeUndefined();
	expect(await stateOf(ws, agent)).toBe("stopped");
	const before = [ranTools(ws), recorded(ws, agent)];
	const next = await ws.advance(agent);
	expect(next, next.stderr).toMatchObject({ code: 0 });
	expect([ranTools(ws), recorded(ws, agent)]).toEqual(before);
};

const behind = { id: "t2", name: "behind" };

for (const [id, ran, text] of [
	["t1", [], BEFORE],
	["t1-1", [], BEFORE],
	["t1-2", ["alpha"], DURING],
	["t1-3", ["alpha", "beta"], DURING],
] as const)
	verifies("multi-tool-stop", `in series, while the control is asked about ${id}`, async () => {
		const place = createPlace();
		const ws = await createBatchWorkspace([batch(named("alpha", "beta", "gamma")), behind], {
			place,
			tools: { alpha: "", beta: "", gamma: "", behind: "" },
			control: stallingControl(place, id),
		});
		const stopped = await stopWhen(ws, [id]);
		expect(ranTools(ws)).toEqual(ran);
		expect(recorded(ws, stopped.agent)).toEqual(ran.map((_, at) => `001/t1-${at + 1}`));
		await expectSettled(ws, stopped, text);
	});

const NAMES = ["alpha", "beta", "gamma"];

for (const [at, name] of NAMES.entries())
	verifies(["tools-174", "tools-106"], `in series, while ${name} runs`, async () => {
		const place = createPlace();
		const make = (file: string): string => `echo made > ${file}`;
		const tools = { alpha: make("one"), beta: make("two"), gamma: make("three"), behind: "" };
		const ws = await createBatchWorkspace([batch(named(...NAMES)), behind], {
			place,
			tools: { ...tools, [name]: `${tools[name as keyof typeof tools]}; ${stall(place, name)}` },
		});
		const stopped = await stopWhen(ws, [name]);
		expect(ranTools(ws)).toEqual(NAMES.slice(0, at + 1));
		// What was written is in the commit that answers the batch, which the one for the call behind it follows.
		expect(
			ws.git("ls-tree", "--name-only", `agents/${stopped.agent}~1`, "one", "two", "three").trimEnd().split("\n"),
		).toEqual(["one", "three", "two"].filter((file) => ["one", "two", "three"].indexOf(file) <= at));
		expect(ws.git("show", `agents/${stopped.agent}~1:messages/003-tool.json`)).toContain('"t1"');
		await expectSettled(ws, stopped, DURING);
	});

verifies("tools-174", "in series, while an entry runs that does not heed the stop", async () => {
	const place = createPlace();
	const ws = await createBatchWorkspace([batch(named("alpha", "beta", "gamma")), behind], {
		place,
		tools: { alpha: "", beta: trapping(place, "beta", ""), gamma: "", behind: "" },
		workflow: { tool_grace_seconds: 0.3 },
	});
	const stopped = await stopWhen(ws, ["beta"]);
	expect(ranTools(ws)).toEqual(["alpha", "beta"]);
	await expectSettled(ws, stopped, DURING);
});

verifies("tools-174", "in series, an entry that ends by itself at the stop: no other one is entered", async () => {
	const place = createPlace();
	const ws = await createBatchWorkspace([batch(named("alpha", "beta", "gamma")), behind], {
		place,
		tools: { alpha: "", beta: trapping(place, "beta", "exit 0"), gamma: "", behind: "" },
	});
	const stopped = await stopWhen(ws, ["beta"]);
	expect(ranTools(ws)).toEqual(["alpha", "beta"]);
	await expectSettled(ws, stopped, DURING);
});

/** Waits, as a tool, until the first entry's output is on record. */
const AFTER_FIRST =
	"while [ ! -e $LERNIE_CONV_REPO/steps/$LERNIE_CONV_BRANCH/001/tools/t1-1/output.json ]; do sleep 0.01; done";

for (const execution of ["serial", "parallel"])
	verifies(
		"multi-tool-stop-kept",
		`the last entry ends by itself at the stop, ${execution}: its batch is answered`,
		async () => {
			const place = createPlace();
			const ws = await createBatchWorkspace([batch(named("alpha", "beta"), { execution }), behind], {
				place,
				tools: { alpha: "", beta: `${AFTER_FIRST}; ${trapping(place, "beta", "echo bye; exit 4")}`, behind: "" },
			});
			const { agent, code, stderr } = await stopWhen(ws, ["beta"]);
			expect(code, stderr).toBe(11);
			const [first, second] = ws.results(agent);
			expect(sectionsOf(first?.text ?? "")).toEqual({
				tally: "2 invocations: 1 ok, 1 failed, 0 skipped",
				sections: [
					{ name: "alpha", status: "ok", text: "Exit code: 0\n" },
					{ name: "beta", status: "failed", text: "Exit code: 4\nbye\n" },
				],
			});
			expect(second?.text).toContain(BEFORE);
			expect(ws.trailers(agent, "Lernie-Verdict")).toEqual(["stopped", "pass"]);
			expect([...ranTools(ws)].sort()).toEqual(["alpha", "beta"]);
		},
	);

for (const id of ["t1-1", "t1-3"])
	verifies("tools-179", `in parallel, while the control is asked about ${id}: nothing runs`, async () => {
		const place = createPlace();
		const ws = await createBatchWorkspace([batch(named(...NAMES), { execution: "parallel" }), behind], {
			place,
			tools: { alpha: "", beta: "", gamma: "", behind: "" },
			control: stallingControl(place, id),
		});
		const stopped = await stopWhen(ws, [id]);
		expect([ranTools(ws), recorded(ws, stopped.agent)]).toEqual([[], []]);
		await expectSettled(ws, stopped, BEFORE);
	});

verifies(
	"multi-tool-stop",
	"in parallel, while all run, one has ended, one does not heed it and one ends by itself",
	async () => {
		const place = createPlace();
		const names = ["quick", "alpha", "beta", "gamma"];
		const ws = await createBatchWorkspace([batch(named(...names), { execution: "parallel" }), behind], {
			place,
			tools: {
				quick: `: > ${begun(place, "quick")}`,
				alpha: stall(place, "alpha"),
				beta: trapping(place, "beta", ""),
				gamma: trapping(place, "gamma", "exit 0"),
				behind: "",
			},
			workflow: { tool_grace_seconds: 0.3 },
		});
		const stopped = await stopWhen(ws, names);
		expect([...ranTools(ws)].sort()).toEqual([...names].sort());
		await expectSettled(ws, stopped, DURING);
	},
);

verifies("multi-tool-stop", "in parallel, those that waited for their turn are never entered", async () => {
	const place = createPlace();
	const entries = Array.from({ length: 12 }, (_, n): Invocation => ({ name: "alpha", input: { n } }));
	const ws = await createBatchWorkspace([batch(entries, { execution: "parallel" }), behind], {
		place,
		tools: {
			alpha: `: > ${place.path("at")}.$$; if [ "$(ls ${place.root} | grep -c '^at')" -eq 8 ]; then : > ${begun(place, "all")}; fi; exec sleep 300`,
			behind: "",
		},
		control: "none",
	});
	const stopped = await stopWhen(ws, ["all"]);
	expect(ranTools(ws)).toHaveLength(8);
	expect([...recorded(ws, stopped.agent)].sort()).toEqual(
		Array.from({ length: 8 }, (_, n) => `001/t1-${n + 1}`).sort(),
	);
	await expectSettled(ws, stopped, DURING);
});

verifies("multi-tool-stop", "a batch of a batch's own tools is ended with all they started", async () => {
	const place = createPlace();
	const command = `sleep 300 & setsid sleep 300 & : > ${begun(place, "shell")}; wait`;
	const ws = await createBatchWorkspace([batch([{ name: "bash", input: { command } }]), behind], {
		place,
		tools: { behind: "" },
		granted: ["bash"],
	});
	const stopped = await stopWhen(ws, ["shell"]);
	await expectSettled(ws, stopped, DURING);
});

for (const execution of ["serial", "parallel"])
	verifies("multi-tool-stop", `between an entry's start on record and the start itself, ${execution}`, async () => {
		const ws = await createBatchWorkspace([batch(named(...NAMES), { execution }), behind], {
			tools: { alpha: "", beta: "", gamma: "", behind: "" },
		});
		const paused = await pauseAt(ws, "tool.input#1", ["run", "go"]);
		paused.signal("SIGTERM");
		const ran = await paused.resume();
		expect(ranTools(ws)).toEqual([]);
		await expectSettled(ws, { ...ran, agent: agentOf(ran.stderr) }, BEFORE);
	});
