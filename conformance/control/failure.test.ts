import { closeSync, openSync, readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import {
	answerWith,
	consults,
	MODES,
	type Mode,
	PASS,
	shellControl,
	tableControl,
	ticks,
} from "../support/controls.ts";
import { createPlace, until } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { createWindow, faulted, files, recorded, steps } from "../support/window.ts";

const FAULT = "exit 3";

/** A run under a control that fails in one way; checks what every failure has in common and hands over the reason. */
const reasonOf = async (mode: Mode, body: string | undefined): Promise<string> => {
	const place = createPlace();
	const control = body === undefined ? place.path("control") : shellControl(place, body, "control", mode);
	const ws = await createWindow(1, {}, { place, control, controlOptions: { mode } });
	const ran = await ws.run();
	const { agent } = ran;
	expect(ran, ran.stderr).toMatchObject({ code: 14 });
	expect(faulted(ws, agent)).toMatchObject({ mark: { kind: "fault", tool_use_id: "t1" }, recorded: [], results: [] });
	expect(ticks(ws)).toEqual([]);
	const { reason = "" } = ws.mark(agent) ?? {};
	expect(reason).toContain(JSON.stringify(control));
	expect(reason).toContain('"alpha", which was not run');
	expect(ran.stderr).toContain(reason);
	return reason;
};

for (const mode of MODES) {
	verifies("tools-37", `mode ${mode}, a control that is not there is a fault that names it and the tool`, async () => {
		expect(await reasonOf(mode, undefined)).toContain("spawn control");
	});

	verifies("tools-39", `mode ${mode}, an exit code is a fault that says what the control wrote to stderr`, async () => {
		expect(await reasonOf(mode, "echo 'guardian down' >&2; exit 3")).toContain("exited 3; stderr: guardian down");
	});

	verifies("tools-40", `mode ${mode}, a pass with exit code 1 is no pass`, async () => {
		expect(await reasonOf(mode, `printf '%s' '${PASS}'; exit 1`)).toContain("exited 1");
	});

	verifies("tools-41", `mode ${mode}, a control that dies of a signal is a fault that names the signal`, async () => {
		expect(await reasonOf(mode, "ulimit -c 0; kill -SEGV $$")).toContain("terminated by signal 11");
	});

	verifies(
		"tools-46",
		`mode ${mode}, a control whose file is still open for writing when it is asked is started once it is closed`,
		async () => {
			const place = createPlace();
			const control = shellControl(place, `say '${PASS}'`, "control", mode);
			const ws = await createWindow(1, {}, { place, control, controlOptions: { mode } });
			const writer = openSync(control, "a");
			const started = ws.start(["-w", ws.dir, "run", "go"], { env: { LERNIE_SCRIPT: ws.path("script.yaml") } });
			try {
				const agent = await until("an agent is founded", () => readdirSync(ws.path("ws/steps"))[0]);
				await until("its call is on the record", () => files(ws, agent).includes("002-model-a.json"));
				// The case is a file that stays busy this long; the consult begins within it.
				await sleep(40);
			} finally {
				closeSync(writer);
			}
			const ran = await started.ended;
			expect(ran, ran.stderr).toMatchObject({ code: 0 });
			expect(ticks(ws)).toEqual(["alpha"]);
		},
	);

	verifies(
		"tools-47",
		`mode ${mode}, a fault at the second of three calls keeps the first result and starts nothing more`,
		async () => {
			const place = createPlace();
			const control = shellControl(
				place,
				`case "$request" in *'"t2"'*) ${FAULT};; esac; say '${PASS}'`,
				"control",
				mode,
			);
			const ws = await createWindow(3, {}, { place, control, controlOptions: { mode } });
			const ran = await ws.run();
			expect(ran, ran.stderr).toMatchObject({ code: 14 });
			expect(consults(ws)).toHaveLength(2);
			expect(ticks(ws)).toEqual(["alpha"]);
			expect(ws.results(ran.agent)).toMatchObject([{ id: "t1", isError: false }]);
			expect(recorded(ws, ran.agent)).toEqual(["001/t1"]);
			expect(ws.mark(ran.agent)).toMatchObject({ tool_use_id: "t2", tool: "beta", kind: "fault", entry: "002" });
		},
	);

	verifies(
		"tools-48",
		`mode ${mode}, the drive after a fault asks again and goes on from there; nobody is told that a call is lost`,
		async () => {
			const place = createPlace();
			const ws = await createWindow(
				3,
				{},
				{ place, control: tableControl(place, { t2: "not json" }), controlOptions: { mode } },
			);
			const { agent } = await ws.run();
			const again = await ws.advance(agent);
			expect(again, again.stderr).toMatchObject({ code: 14 });
			expect(ticks(ws)).toEqual(["alpha"]);
			answerWith(place, {});
			const ran = await ws.advance(agent);
			expect(ran, ran.stderr).toMatchObject({ code: 0 });
			expect(ticks(ws)).toEqual(["alpha", "beta", "gamma"]);
			expect(ws.results(agent).map(({ id, isError }) => [id, isError])).toEqual([
				["t1", false],
				["t2", false],
				["t3", false],
			]);
			expect(steps(ws, agent)).toBe(2);
			expect(ws.mark(agent)).toBeUndefined();
		},
	);
}

verifies("tools-49", "with `tool_control: none` nothing is asked, and that is said and recorded", async () => {
	const ws = await createWindow(2, {}, { control: "none" });
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["alpha", "beta"]);
	expect(ws.exists(`ws/steps/${ran.agent}/001/verdicts.jsonl`)).toBe(false);
	expect(ws.trailers(ran.agent, "Lernie-Verdict")).toEqual(["none", "none"]);
	expect(ws.trailers(ran.agent, "Lernie-Control")).toEqual([]);
	expect(ran.stderr).toContain("UNCONTROLLED");
});

const refusedConfig = async (control: string): Promise<string> => {
	const place = createPlace();
	place.write("home/template/providers.yaml", "roles: {worker: {provider: scripted, model: m, tools: []}}\n");
	place.write("home/template/workflow.yaml", `tool_control: ${control}\n`);
	const ran = await place.lernie(["new", place.path("ws")]);
	expect(ran, ran.stderr).toMatchObject({ code: 3, stdout: "" });
	expect(place.exists("ws")).toBe(false);
	return ran.stderr;
};

verifies("tools-50", "a blank control does not load", async () => {
	expect(await refusedConfig('{command: "  "}')).toContain("tool_control.command");
});

verifies("tools-51", "an unknown key of the control does not load", async () => {
	expect(await refusedConfig("{command: /bin/true, tools: [bash]}")).toContain("tool_control.tools: unknown key");
});
