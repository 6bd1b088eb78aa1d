import { describe, expect } from "vitest";
import { bounds, envelopes, type ResultCase } from "../cases/results.ts";
import { createPlace } from "../support/place.ts";
import { runCalls, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";

const runCases = async (cases: readonly ResultCase[]): Promise<void> => {
	const place = createPlace();
	for (const [at, { body }] of cases.entries()) place.tool(`case${at}`, `#!/bin/sh\n${body}\n`);
	const bound = cases[0]?.bound;
	const workflow = bound === undefined ? {} : { tool_output: { head_bytes: bound[0], tail_bytes: bound[1] } };
	const names = cases.map((_, at) => `case${at}`);
	const calls = names.map((name) => ({ name, id: name }));
	const { ran, agent, results } = await runCalls(calls, { place, tools: names, workflow });
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	for (const [at, { name, text, isError = false, stdout, stderr }] of cases.entries()) {
		const record = `steps/${agent}/001/tools/case${at}/output.json`;
		const expected = { id: `case${at}`, text: text.replaceAll("@RECORD@", record), isError };
		expect.soft(results[at], name).toEqual(expected);
		const output = JSON.parse(place.read(stepFile(agent, "001", `tools/case${at}/output.json`))) as object;
		if (stdout !== undefined) expect.soft(output, name).toMatchObject({ stdout, stderr: "" });
		if (stderr !== undefined) expect.soft(output, name).toMatchObject({ stdout: "", stderr });
	}
};

verifies(
	envelopes.flatMap(({ id }) => id),
	"the envelope is one header line, stdout, and stderr under a line of its own",
	() => runCases(envelopes),
);

describe("the bound", () => {
	for (const one of bounds) verifies(one.id, one.name, () => runCases([one]));

	verifies(["tools-149", "tools-144"], "one policy bounds every call, by a path below the workspace", async () => {
		const workflow = { tool_output: { head_bytes: 1, tail_bytes: 1 } };
		const call = { name: "bash", input: { command: "echo long" } };
		const after = [{ tools: [{ ...call, id: "c" }] }, { say: "done" }];
		const { agent, ws } = await runCalls(
			[
				{ ...call, id: "a" },
				{ ...call, id: "b" },
			],
			{ workflow, after },
		);
		const paths = ws.results(agent).map(({ text }) => /full record: (\S+) /.exec(text)?.[1]);
		expect(paths).toEqual([
			`steps/${agent}/001/tools/a/output.json`,
			`steps/${agent}/001/tools/b/output.json`,
			`steps/${agent}/002/tools/c/output.json`,
		]);
		for (const { text } of ws.results(agent)) expect(text).not.toContain(ws.root);
	});
});
