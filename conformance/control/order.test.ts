import { expect } from "vitest";
import { consults, MODES, tableControl, ticks, tickTool } from "../support/controls.ts";
import { createPlace } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { CALLS, createWindow, files, REFUSE, recorded } from "../support/window.ts";
import { createWorkspace } from "../support/workspace.ts";

for (const mode of MODES) {
	verifies(
		"tools-53",
		`mode ${mode}, a call of a tool the role does not have is declined before the control sees it`,
		async () => {
			const place = createPlace();
			tickTool(place, "slack_read");
			const calls = [
				{ id: "t1", name: "bash", input: { command: `echo bash >> ${place.path("ticks.log")}` } },
				{ id: "t2", name: "slack_read", input: {} },
			];
			const ws = await createWorkspace({
				place,
				script: { calls: [{ tools: calls }, { say: "done" }] },
				tools: ["slack_read", "message"],
				control: tableControl(place, {}),
				controlOptions: { mode },
			});
			const ran = await ws.run();
			expect(ran, ran.stderr).toMatchObject({ code: 0 });
			const [declined, answered] = ws.results(ran.agent);
			expect(declined).toMatchObject({ id: "t1", isError: true });
			for (const part of ['"bash"', "not callable by a worker", "The worker toolset is slack_read, message"])
				expect(declined?.text).toContain(part);
			expect(declined?.text).not.toContain("Exit code:");
			expect(answered).toMatchObject({ id: "t2", isError: false });
			expect(ticks(ws)).toEqual(["slack_read"]);
			expect(consults(ws).map((line) => (JSON.parse(line) as { id: string }).id)).toEqual(["t2"]);
			expect(recorded(ws, ran.agent)).toEqual(["001/t2"]);
			expect(files(ws, ran.agent).slice(1, 4)).toEqual(["002-model-a.json", "003-tool.json", "004-tool.json"]);
			expect(ws.trailers(ran.agent, "Lernie-Verdict")).toEqual(["pass", "ungranted"]);
		},
	);

	verifies("tools-54", `mode ${mode}, a refused call is declined and the window goes on`, async () => {
		const place = createPlace();
		place.write("note.txt", "the note");
		const calls = [
			{ id: "t1", name: "bash", input: { command: "true" } },
			{ id: "t2", name: "read_file", input: { path: place.path("note.txt") } },
		];
		const ws = await createWorkspace({
			place,
			script: { calls: [{ tools: calls }, { say: "done" }] },
			control: tableControl(place, { bash: REFUSE }),
			controlOptions: { mode },
		});
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "done\n" });
		expect(ws.results(ran.agent)).toMatchObject([
			{ id: "t1", isError: true },
			{ id: "t2", isError: false, text: expect.stringContaining("the note") },
		]);
		expect(recorded(ws, ran.agent)).toEqual(["001/t2"]);
	});

	verifies(
		"tools-55",
		`mode ${mode}, a refused call has no exit code and no record, and the model reads the reason`,
		async () => {
			const ws = await createWindow(1, { alpha: REFUSE }, { controlOptions: { mode } });
			const { agent } = await ws.run();
			const [declined] = ws.results(agent);
			expect(declined).toMatchObject({ id: "t1", isError: true });
			expect(declined?.text).toContain(`"alpha" was refused by the workflow's tool control`);
			expect(declined?.text).toContain("not on my watch");
			expect(declined?.text).not.toContain("Exit code:");
			expect(recorded(ws, agent)).toEqual([]);
			expect(ticks(ws)).toEqual([]);
		},
	);

	verifies("tools-56", `mode ${mode}, prose between calls is passed over, and exactly the calls run`, async () => {
		const block = (index: number, kind: object, delta: object) => [
			{ type: "content_start", index, kind },
			{ type: "content_delta", index, delta },
			{ type: "content_stop", index },
		];
		const call = (index: number, { id, name, input }: (typeof CALLS)[number]) =>
			block(index, { tool_use: { id, name } }, { json_delta: JSON.stringify(input) });
		const events = [
			{ type: "message_start", v: 1, role: "assistant", id: "m", model: "model-a" },
			...call(0, CALLS[0]),
			...block(1, { text: {} }, { text_delta: "and then" }),
			...call(2, CALLS[1]),
			{ type: "finish", reason: "stop" },
			{ type: "end" },
		];
		const ws = await createWindow(
			2,
			{},
			{ script: { calls: [{ events }, { say: "done" }] }, controlOptions: { mode } },
		);
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(ticks(ws)).toEqual(["alpha", "beta"]);
		expect(ws.results(ran.agent).map(({ id }) => id)).toEqual(["t1", "t2"]);
	});
}
