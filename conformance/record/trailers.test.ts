import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { tableControl } from "../support/controls.ts";
import { createPlace } from "../support/place.ts";
import { bash, runCalls } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { digestOf, type Workspace } from "../support/workspace.ts";

/** The trailers of each commit of an agent, oldest first, as `Name: value` lines. */
const commits = (ws: Workspace, agent: string): readonly (readonly string[])[] =>
	ws
		.git("log", "--reverse", "--format=%(trailers:only,unfold)%x00", `config/default..agents/${agent}`)
		.split("\0")
		.slice(0, -1)
		.map((block) => block.trim().split("\n"));

verifies(
	"contract-fact-trailers",
	"every commit says role and configuration, and what the agent was founded with",
	async () => {
		const flags = ["--model", "scripted/other", "--max-steps", "7"];
		const { agent, ws } = await runCalls([bash("true")], { run: { flags } });
		const config = ws.git("rev-parse", "config/default").trim();
		const facts = [
			"Lernie-Role: worker",
			`Lernie-Config: ${config}`,
			"Lernie-Model: scripted/other",
			"Lernie-Limit: steps=7",
		];
		const all = commits(ws, agent);
		expect(all).toHaveLength(5);
		expect(all[0]).toEqual(["Lernie-Format: 1", ...facts]);
		for (const lines of all.slice(1)) expect(lines.slice(0, 4)).toEqual(facts);
		expect(all[1]?.[4]).toMatch(/^Lernie-Deposit: user-001\.md [0-9a-f]{40}$/);
		expect(ws.git("log", "--reverse", "--format=%s", `config/default..agents/${agent}`).trim().split("\n")).toEqual([
			`step 001: dispatch [${agent}]`,
			`transcript 001: user [${agent}]`,
			`transcript 002: other [${agent}]`,
			`transcript 003: tool [${agent}]`,
			`transcript 004: other [${agent}]`,
		]);
	},
);

verifies("contract-result-trailers", "a result's commit says what was judged, by whom and how", async () => {
	const place = createPlace();
	const control = tableControl(place, { no: '{"verdict":"refuse","reason":"not now"}' });
	const input = { command: "true" };
	const calls = [
		{ name: "bash", id: "yes ü/1", input },
		{ name: "bash", id: "no", input },
		{ name: "frob", id: "ungranted" },
		{ name: "bash", id: "unusable", input_json: "7" },
	];
	const { agent, ws } = await runCalls(calls, { place, control });
	const results = commits(ws, agent)
		.slice(3, -1)
		.map((lines) => lines.slice(2));
	const label = `Lernie-Control: ${control} sha256:${createHash("sha256").update(readFileSync(control)).digest("hex")}`;
	const digest = (id: string): string =>
		`Lernie-Digest: ${digestOf({ id, name: "bash", input: JSON.stringify(input) }, agent)}`;
	expect(results).toEqual([
		["Lernie-Call: yes%20%C3%BC%2F1", "Lernie-Verdict: pass", digest("yes ü/1"), label, "Lernie-Confined: no"],
		["Lernie-Call: no", "Lernie-Verdict: refuse", digest("no"), label, "Lernie-Confined: no"],
		["Lernie-Call: ungranted", "Lernie-Verdict: ungranted"],
		["Lernie-Call: unusable", "Lernie-Verdict: unusable"],
	]);
});

verifies("contract-result-trailers", "without a control the verdict is `none` and no control is named", async () => {
	const { agent, ws } = await runCalls([bash("true")]);
	const result = commits(ws, agent)[3]?.slice(2);
	expect(result?.map((line) => line.split(" ")[0])).toEqual([
		"Lernie-Call:",
		"Lernie-Verdict:",
		"Lernie-Digest:",
		"Lernie-Confined:",
	]);
	expect(result?.[1]).toBe("Lernie-Verdict: none");
});
