import { execFileSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { MODES } from "../support/controls.ts";
import { createPlace, type Place } from "../support/place.ts";
import { bash, type Call } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

interface Sample {
	readonly file: string;
	/** What runs it. */
	readonly program: string;
	/** Calls it passes, and one it holds. */
	readonly passed: readonly Call[];
	readonly refused: readonly Call[];
}

const read = (path: string): Call => ({ name: "read_file", input: { path } });
const cd = (path: string): Call => ({ name: "cd", input: { path } });
const READS = { passed: [cd("."), read("note.txt")], refused: [read("/etc/passwd"), cd("a/../..")] } as const;

const SAMPLES: readonly Sample[] = [
	{ file: "control.sh", program: "sh", passed: [cd(".")], refused: [] },
	{ file: "control.py", program: "python3", ...READS },
	{ file: "control.ts", program: "node", ...READS },
];

/** The sample as somebody has it who copied it somewhere else. */
const copyOf = (place: Place, file: string): string => {
	const copy = place.path(file);
	copyFileSync(fileURLToPath(new URL(`../../docs/examples/${file}`, import.meta.url)), copy);
	return copy;
};

/** On CI a program that is missing is a failure: `scripts/test.mjs` was to install it. */
const missing = (program: string): boolean => {
	if (process.env.CI === "true") return false;
	try {
		execFileSync("which", [program], { stdio: "ignore" });
		return false;
	} catch {
		return true;
	}
};

for (const { mode, sample } of MODES.flatMap((mode) => SAMPLES.map((sample) => ({ mode, sample })))) {
	const { file, program, passed, refused } = sample;

	verifies("control-sample-test", `${file} passes control test in mode ${mode}`, async (context) => {
		if (missing(program)) context.skip(`${program} is not on PATH`);
		const place = createPlace();
		const ran = await place.lernie(["control", "test", copyOf(place, file), "--mode", mode]);
		expect(ran, ran.stdout).toMatchObject({ code: 0, stderr: "" });
		expect(ran.stdout).toMatch(mode === "serve" ? /\n15 passed, 0 failed\n$/ : /\n13 passed, 0 failed\n$/);
	});

	verifies("control-sample-drive", `${file} judges the calls of an agent in mode ${mode}`, async (context) => {
		if (missing(program)) context.skip(`${program} is not on PATH`);
		const place = createPlace();
		const trick = { name: "read_file", id: "call_1", input: { path: "note.txt" } };
		const held = { ...bash("true"), input: { command: "true", ...trick } };
		const calls = [...passed, ...refused, held].map((call, at) => ({ ...call, id: `t${at}` }));
		const ws = await createWorkspace({
			place,
			control: copyOf(place, file),
			controlOptions: { mode },
			script: { calls: [{ tools: calls }, { say: "done" }] },
		});
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 10 });
		const verdicts = ws.trailers(ran.agent, "Lernie-Verdict").toReversed();
		expect(verdicts).toEqual([...passed.map(() => "pass"), ...refused.map(() => "refuse")]);
		expect(ws.mark(ran.agent)).toMatchObject({ tool: "bash", kind: "hold" });
	});
}
