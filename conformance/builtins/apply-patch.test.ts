import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { expect } from "vitest";
import { createPlace } from "../support/place.ts";
import { bash, runCalls, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

const patch = (...lines: readonly string[]) => ({
	name: "apply_patch",
	input: { input: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") },
});
const OLD = bash("printf 'one\\ntwo\\n' | tee a > b; echo gone > c; chmod 750 b");
const document = (text = ""): unknown => JSON.parse(text.slice(text.indexOf("\n") + 1));
const reason = (text = ""): string =>
	/^Exit code: 1\n--- stderr ---\nlernie tool apply_patch: (.*)\n$/.exec(text)?.[1] ?? text;

verifies("tools-213", "one patch adds, updates, moves and deletes, and the answer says so", async () => {
	const sections = [
		...["*** Add File: new/dir/d", "+first", "+", "*** Update File: a", "@@", " one", "-two", "+2"],
		...["*** Update File: b", "*** Move to: moved/b", "@@ one", "-two", "*** Delete File: c"],
	];
	const { agent, results, ws } = await runCalls([OLD, patch(...sections)]);
	expect(results[1]?.isError).toBe(false);
	expect(document(results[1]?.text)).toEqual({
		status: "applied",
		files: [
			{ path: "new/dir/d", op: "add" },
			{ path: "a", op: "update", hunks: [{ rung: "exact", line: 1 }] },
			{ path: "b", op: "update", moved_to: "moved/b", hunks: [{ rung: "exact", line: 2 }] },
			{ path: "c", op: "delete" },
		],
	});
	// What was written is part of the record.
	const recorded = ws.git("ls-tree", "-r", "--format=%(objectmode) %(path)", `agents/${agent}`).split("\n");
	expect(recorded.filter((line) => / (a|b|c|new\/.*|moved\/.*)$/.test(line))).toEqual([
		"100644 a",
		"100755 moved/b",
		"100644 new/dir/d",
	]);
	const contents = ["a", "moved/b", "new/dir/d"].map((path) => ws.git("show", `agents/${agent}:${path}`));
	expect(contents).toEqual(["one\n2\n", "one\n", "first\n\n"]);
	expect(statSync(ws.path("ws/agents", agent, "moved/b")).mode & 0o777).toBe(0o750);
});

verifies(
	"tools-214",
	"context that is there twice is refused with the count and the rung; an anchor resolves it",
	async () => {
		const change = ["-  return 0", "+  return 1"];
		const { agent, results, ws } = await runCalls([
			bash("printf 'def a\\n  return 0\\ndef b\\n  return 0\\n' > f"),
			patch("*** Update File: f", "@@", ...change),
			patch("*** Update File: f", "@@ def b", ...change),
		]);
		expect(results[1]?.isError).toBe(true);
		expect(reason(results[1]?.text)).toBe(
			"f: hunk at line 3: its context is there 2 times (exact), at lines 2, 4; add context or an @@ anchor",
		);
		expect(document(results[2]?.text)).toMatchObject({ files: [{ hunks: [{ rung: "exact", line: 4 }] }] });
		expect(ws.git("show", `agents/${agent}:f`)).toBe("def a\n  return 0\ndef b\n  return 1\n");
	},
);

verifies("tools-215", "a dangling link is no place for a file", async () => {
	const { agent, results, ws } = await runCalls([
		bash("ln -s nowhere l; echo old > a"),
		patch("*** Add File: l", "+x"),
		patch("*** Update File: l", "@@", "-x"),
		patch("*** Update File: a", "*** Move to: l", "@@", "-old"),
		patch("*** Add File: l/f", "+x"),
		patch("*** Delete File: l"),
	]);
	expect(results.map(({ isError }) => isError)).toEqual([false, true, true, true, true, false]);
	for (const { text } of results.slice(1, 5)) expect(reason(text)).toMatch(/\bl(\/f)?: .*is a link/);
	expect(readdirSync(ws.path("ws/agents", agent))).toEqual(["a"]);
});

verifies("tools-216", "quotes and dashes that drifted are found, and the answer has the real line", async () => {
	const real = "say “it’s” — now";
	const { agent, results, ws } = await runCalls([
		bash(`printf '%s\\r\\nrest' '${real}' > f`),
		patch("*** Update File: f", "@@", `-say "it's" - now`, "+said"),
	]);
	expect(document(results[1]?.text)).toEqual({
		status: "applied",
		files: [{ path: "f", op: "update", hunks: [{ rung: "unicode-normalized", line: 1, matched: real }] }],
	});
	expect(ws.git("show", `agents/${agent}:f`)).toBe("said\r\nrest");
});

verifies("patch-nothing", "a patch with one bad part changes nothing, and says what in one line", async () => {
	const first = ["*** Add File: x/new", "+1", "*** Update File: a", "@@", "-one", "*** Delete File: c"];
	const look = bash("find . -printf '%p %y %m %s %T@ %i\\n' | sort; cat a b c");
	const { results } = await runCalls([
		OLD,
		look,
		patch(...first, "*** Update File: b", "@@", "-three"),
		patch(...first, "*** Add File: b"),
		patch(...first, "*** Delete File: ./a"),
		patch(...first, "", "*** Delete File: b"),
		{ name: "apply_patch", input: { input: "--- a\n+++ b\n" } },
		{ name: "apply_patch", input: { input: "", path: "x" } },
		look,
	]);
	expect(results.slice(2, 8).map(({ text }) => reason(text))).toEqual([
		'b: hunk at line 9: its context is not there: the first of them, "three", is not there',
		"b: it exists already",
		"two operations on one path: a (line 4) and ./a (line 8)",
		"line 8: a blank line between sections",
		"line 1: the first line must be *** Begin Patch",
		expect.stringContaining('invalid input JSON: unknown key "path"'),
	]);
	expect(results[1]?.text).toContain("\n./b f 750 8 ");
	expect(results[8]?.text).toBe(results[1]?.text);
});

verifies(
	"patch-inside",
	"a patch does not leave the working directory by a link, and never enters /proc, /sys, /dev",
	async () => {
		const place = createPlace();
		mkdirSync(place.path("outside"));
		place.write("outside/f", "old\n");
		const change = ["@@", "-old", "+new"];
		const closed = ["/proc/self/comm", "proc/comm", "/dev/null", "/sys/kernel/x"];
		const { results } = await runCalls(
			[
				bash(`ln -s ${place.path("outside")} out; ln -s /proc/self proc`),
				patch("*** Update File: out/f", ...change),
				patch("*** Add File: out/new", "+x"),
				...closed.map((path) => patch(`*** Add File: ${path}`, "+x")),
				patch(`*** Update File: ${place.path("outside/f")}`, ...change),
			],
			{ place },
		);
		for (const { text } of results.slice(1, 3))
			expect(reason(text)).toContain("it leads out of the working directory, to ");
		for (const { text } of results.slice(3, 7))
			expect(reason(text)).toMatch(/nothing in \/(proc|sys|dev) is changed by this/);
		expect(results[7]?.isError).toBe(false);
		expect(place.read("outside/f")).toBe("new\n");
		expect(readdirSync(place.path("outside"))).toEqual(["f"]);
	},
);

verifies(
	"patch-killed",
	"a driver killed between two files of a patch: unknown to the model, and recorded as it is",
	async () => {
		const update = (path: string) => [`*** Update File: ${path}`, "@@", "-old", "+new", " end"];
		const call = { ...patch(...update("a"), ...update("b")), id: "p1" };
		const place = createPlace();
		for (const name of ["a", "b"]) chmodSync(place.write(name, "old\nend\n"), 0o640);
		const copy = bash(`cp -p ${place.path("a")} ${place.path("b")} .`);
		const script = { calls: [{ tools: [copy] }, { tools: [call, bash("echo never >> c")] }, { say: "done" }] };
		const ws = await createWorkspace({ place, script });
		const killed = await ws.run("do it", { env: { LERNIE_CRASH_AT: "patch.written" } });
		expect(killed.signal).toBe("SIGKILL");
		const { agent } = killed;
		expect(existsSync(ws.path(stepFile(agent, "002", "tools/p1/input.json")))).toBe(true);
		expect(await ws.advance(agent)).toMatchObject({ code: 0 });
		expect(ws.trailers(agent, "Lernie-Verdict")).toEqual(["not-started", "unknown", "none"]);
		const left = ["a", "b"].map((path) => ws.git("show", `agents/${agent}:${path}`));
		expect(left).toEqual(["new\nend\n", "old\nend\n"]);
		for (const path of ["a", "b"])
			expect(ws.read(`ws/agents/${agent}/${path}`)).toBe(ws.git("show", `agents/${agent}:${path}`));
		// The second file lay finished beside its place; nobody tidies up what may have run.
		const there = readdirSync(ws.path("ws/agents", agent)).sort();
		expect(there).toEqual([expect.stringMatching(/^\.lernie-patch-[0-9a-f]{16}$/), "a", "b"]);
		const recorded = ws.git("ls-tree", "--name-only", `agents/${agent}`).split("\n");
		expect(there.filter((name) => !recorded.includes(name))).toEqual([]);
	},
);
