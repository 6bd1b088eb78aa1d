import { readdirSync } from "node:fs";
import { expect } from "vitest";
import { answerWith, consults, PASS, shellControl, tableControl, ticks, tickTool } from "../support/controls.ts";
import { createPlace, until } from "../support/place.ts";
import { atRest, runCalls, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

const HOLD = '{"verdict":"hold","reason":"ask first"}';

verifies(
	"core-7",
	"a hold parks without a result; asked again it holds on and delivers no mail; a pass runs the call, then the mail comes",
	async () => {
		const place = createPlace();
		// The mark must be gone before the tool acts: it writes down what it sees.
		tickTool(
			place,
			"held",
			`git -C "$LERNIE_CONV_REPO/repo.git" for-each-ref refs/lernie/held > ${place.path("marks")}`,
		);
		const control = tableControl(place, { held: HOLD });
		const options = { place, control, tools: ["held"], after: [{ say: "done" }, { say: "later" }] };
		const { ran, agent, ws } = await runCalls([{ name: "held", id: "t1" }], options);
		expect(ran.code).toBe(10);
		expect(ws.mark(agent)).toMatchObject({
			tool_use_id: "t1",
			tool: "held",
			reason: "ask first",
			kind: "hold",
			entry: "002",
		});
		const tip = ws.tip(agent);
		expect((await ws.in(["message", agent, "any news?"])).code).toBe(0);
		await until("the woken drive to end", () => consults(place).length === 2 && atRest(ws, agent));
		expect((await ws.advance(agent)).code).toBe(10);
		expect([ws.tip(agent), ticks(place)]).toEqual([tip, []]);
		expect(readdirSync(place.path("ws/inbox", agent)).filter((name) => !name.startsWith("."))).toEqual(["user-001.md"]);
		answerWith(place, {});
		expect((await ws.advance(agent)).code).toBe(0);
		expect(ticks(place)).toEqual(["held"]);
		expect(place.read("marks")).toBe("");
		expect(ws.mark(agent)).toBeUndefined();
		expect(ws.entries(agent).map(({ file }) => file)).toEqual([
			"001-user.md",
			"002-model-a.json",
			"003-tool.json",
			"004-user.md",
			"005-model-a.json",
		]);
	},
);

verifies("core-7", "a pass runs the call and a refusal is told to the model and does not", async () => {
	const place = createPlace();
	for (const name of ["yes", "no"]) tickTool(place, name);
	const control = tableControl(place, { no: '{"verdict":"refuse","reason":"not today"}' });
	const { ran, results } = await runCalls([{ name: "no" }, { name: "yes", id: "y" }], {
		place,
		control,
		tools: ["yes", "no"],
	});
	expect(ran.code).toBe(0);
	expect(ticks(place)).toEqual(["yes"]);
	expect(results).toMatchObject([{ isError: true, text: expect.stringContaining("not today") }, { isError: false }]);
});

const faults: Readonly<Record<string, string | undefined>> = {
	"is missing": undefined,
	"dies by a signal": "kill -SEGV $$",
	"exits 1": `printf '%s' '${PASS}'; exit 1`,
	"prints garbage": "echo pass",
	"uses an unknown field": `printf '%s' '{"verdict":"pass","x":1}'`,
	"passes with a reason": `printf '%s' '{"verdict":"pass","reason":"fine"}'`,
};

verifies(
	"core-8",
	"under a control that fails nothing runs, exit 14, and the mark stands, also when it is asked again",
	async () => {
		const place = createPlace();
		tickTool(place, "tick");
		const calls = [{ tools: [{ name: "tick", id: "t1" }] }];
		const ws = await createWorkspace({ place, control: place.path("control"), tools: ["tick"], script: { calls } });
		for (const [name, body] of Object.entries(faults)) {
			if (body !== undefined) shellControl(place, body);
			const ran = await ws.run();
			expect.soft(ran, name).toMatchObject({ code: 14, stdout: "" });
			const mark = ws.mark(ran.agent);
			const reason = expect.stringMatching(/^control fault: /);
			expect.soft(mark, name).toMatchObject({ tool_use_id: "t1", kind: "fault", reason });
			expect.soft((await ws.advance(ran.agent)).code, name).toBe(14);
			expect.soft(ws.mark(ran.agent), name).toMatchObject({ tool_use_id: "t1", kind: "fault", since: mark?.since });
			expect.soft(ws.results(ran.agent), name).toEqual([]);
			expect.soft(place.exists(stepFile(ran.agent, "001", "tools")), name).toBe(false);
		}
		expect(ticks(place)).toEqual([]);
	},
);

verifies(
	"core-9",
	"of two calls the first passes and the second is held: the first is not run or asked about again",
	async () => {
		const place = createPlace();
		for (const name of ["first", "second"]) tickTool(place, name);
		const control = tableControl(place, { second: HOLD });
		const calls = [
			{ name: "first", id: "a" },
			{ name: "second", id: "b" },
		];
		const { ran, agent, ws } = await runCalls(calls, { place, control, tools: ["first", "second"] });
		expect(ran.code).toBe(10);
		expect(ws.results(agent).map(({ id }) => id)).toEqual(["a"]);
		answerWith(place, {});
		expect((await ws.advance(agent)).code).toBe(0);
		expect(ticks(place)).toEqual(["first", "second"]);
		expect(consults(place).map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(["a", "b", "b"]);
		expect(ws.results(agent).map(({ id }) => id)).toEqual(["a", "b"]);
	},
);
