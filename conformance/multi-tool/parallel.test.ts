import { expect } from "vitest";
import {
	batch,
	createBatchWorkspace,
	type Invocation,
	named,
	ranTools,
	sectionsOf,
	verdictsOf,
} from "../support/batch.ts";
import { createPlace, until } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { HOLD, mailOf, quiet, REFUSE, recorded } from "../support/window.ts";
import type { Workspace } from "../support/workspace.ts";

const parallel = { execution: "parallel" } as const;

const sections = (ws: Workspace, agent: string) => sectionsOf(ws.results(agent)[0]?.text ?? "");

verifies("tools-176", "all entries run, and their sections come in list order", async () => {
	const ws = await createBatchWorkspace([batch(named("alpha", "beta", "gamma"), parallel)], {
		tools: { alpha: "echo a", beta: "echo b", gamma: "echo c" },
	});
	const { agent, code } = await ws.run();
	expect(code).toBe(0);
	expect(sections(ws, agent)).toEqual({
		tally: "3 invocations: 3 ok, 0 failed, 0 skipped",
		sections: [
			{ name: "alpha", status: "ok", text: "Exit code: 0\na\n" },
			{ name: "beta", status: "ok", text: "Exit code: 0\nb\n" },
			{ name: "gamma", status: "ok", text: "Exit code: 0\nc\n" },
		],
	});
	expect(recorded(ws, agent)).toEqual(["001/t1-1", "001/t1-2", "001/t1-3"]);
	expect([...ranTools(ws)].sort()).toEqual(["alpha", "beta", "gamma"]);
});

verifies("tools-177", "nothing is skipped, whatever failed or was declined", async () => {
	const entries = named("alpha", "bad", "held", "refused", "nobody", "gamma");
	const ws = await createBatchWorkspace([batch(entries, { ...parallel, on_failure: "abort" })], {
		tools: { alpha: "", bad: "exit 1", held: "", refused: "", gamma: "" },
		answers: { held: HOLD, refused: REFUSE },
	});
	const { agent } = await ws.run();
	const shown = sections(ws, agent);
	expect(shown.tally).toBe("6 invocations: 2 ok, 4 failed, 0 skipped");
	expect(shown.sections.map(({ name, status }) => `${name} ${status}`)).toEqual([
		"alpha ok",
		"bad failed",
		"held declined",
		"refused declined",
		"nobody declined",
		"gamma ok",
	]);
	expect([...ranTools(ws)].sort()).toEqual(["alpha", "bad", "gamma"]);
	expect(ws.results(agent)[0]?.isError).toBe(true);
	expect(ws.mark(agent)).toBeUndefined();
});

verifies("tools-180", "every entry is judged before the first one starts", async () => {
	const place = createPlace();
	const count = `wc -l < ${place.path("consults.log")}`;
	const nested: Invocation = { name: "multi_tool", input: { invocations: [] } };
	const ws = await createBatchWorkspace([batch([nested, ...named("alpha", "beta", "gamma")], parallel)], {
		place,
		tools: { alpha: count, beta: count, gamma: "" },
		answers: { gamma: REFUSE },
	});
	const { agent } = await ws.run();
	const shown = sections(ws, agent).sections;
	expect(shown.map(({ status }) => status)).toEqual(["declined", "ok", "ok", "declined"]);
	expect(shown[0]?.text).toContain("may not contain itself (depth 1)");
	expect(verdictsOf(ws, agent).map(({ id }) => id)).toEqual(["t1", "t1-2", "t1-3", "t1-4"]);
	for (const at of [1, 2]) expect(shown[at]?.text).toBe("Exit code: 0\n4\n");
});

/** Waits, as a tool, until files are there. */
const meet = (...paths: readonly string[]): string =>
	paths.map((path) => `while [ ! -e ${path} ]; do sleep 0.01; done`).join("; ");

verifies("tools-181", "entries that wait for each other both come to an end", async () => {
	const place = createPlace();
	const [here, there] = [place.path("alpha.here"), place.path("beta.here")];
	const ws = await createBatchWorkspace([batch(named("alpha", "beta"), parallel)], {
		place,
		tools: { alpha: `: > ${here}; ${meet(there)}`, beta: `: > ${there}; ${meet(here)}` },
		workflow: { tool_timeout_seconds: 40 },
	});
	const { agent } = await ws.run();
	expect(sections(ws, agent).tally).toBe("2 invocations: 2 ok, 0 failed, 0 skipped");
});

verifies("tools-182", "an entry that ends last keeps its place", async () => {
	const place = createPlace();
	const ended = `steps/$LERNIE_CONV_BRANCH/001/tools/t1-2/output.json`;
	const ws = await createBatchWorkspace([batch(named("slow", "quick"), parallel)], {
		place,
		tools: { slow: meet(`$LERNIE_CONV_REPO/${ended}`), quick: "" },
		workflow: { tool_timeout_seconds: 40 },
	});
	const { agent } = await ws.run();
	expect(sections(ws, agent).sections.map(({ name, status }) => `${name} ${status}`)).toEqual(["slow ok", "quick ok"]);
});

verifies("multi-tool-eight", "eight entries run at a time, never more, and all run once", async () => {
	const place = createPlace();
	const [inside, full] = [place.path("inside"), place.path("full")];
	// Each counts those that are there with it; the first ones wait until eight are, and then leave a ninth time to come.
	const body = `
mkdir -p ${inside}; : > ${inside}/$$
count=$(ls ${inside} | wc -l); echo "$count" >> ${place.path("counts.log")}
if [ "$count" -eq 8 ]; then : > ${full}; fi
${meet(full)}
sleep 0.2; rm ${inside}/$$`;
	const entries = Array.from({ length: 20 }, (_, n): Invocation => ({ name: "alpha", input: { n } }));
	const ws = await createBatchWorkspace([batch(entries, parallel)], {
		place,
		tools: { alpha: body },
		control: "none",
		workflow: { tool_timeout_seconds: 40 },
	});
	const { agent, code, stderr } = await ws.run();
	expect(code, stderr).toBe(0);
	expect(sections(ws, agent).tally).toBe("20 invocations: 20 ok, 0 failed, 0 skipped");
	const counts = ws.read("counts.log").trimEnd().split("\n").map(Number);
	expect(counts).toHaveLength(20);
	expect(Math.max(...counts)).toBe(8);
});

verifies(
	"multi-tool-together",
	"moves and messages side by side are all done, and none is in another's way",
	async () => {
		const ws = await createBatchWorkspace([], { granted: ["cd", "message"], after: [{ say: "waiting" }] });
		const other = (await ws.run("wait")).agent;
		const messages = Array.from(
			{ length: 8 },
			(_, n): Invocation => ({ name: "message", input: { agent: other, content: `note ${n}` } }),
		);
		const moves = ["/", "/tmp", "/usr"].map((path): Invocation => ({ name: "cd", input: { path } }));
		ws.setScript({ calls: [{ tools: [batch([...moves, ...messages, ...moves], parallel)] }, { say: "done" }] });
		const { agent, code, stderr } = await ws.run();
		expect(code, stderr).toBe(0);
		expect(sections(ws, agent).tally).toBe("14 invocations: 14 ok, 0 failed, 0 skipped");
		expect(["/", "/tmp", "/usr"]).toContain(ws.git("cat-file", "blob", `refs/lernie/cwd/${agent}`));
		await until("the mail is delivered", () => mailOf(ws, other).length === 0);
		await quiet(ws);
		const delivered = ws.entries(other).flatMap(({ text }) => /note \d/.exec(text) ?? []);
		expect(delivered.sort()).toEqual(messages.map((_, n) => `note ${n}`));
	},
);
