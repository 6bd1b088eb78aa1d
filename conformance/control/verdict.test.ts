import { expect } from "vitest";
import { servedBytes, type VerdictCase, verdictCases } from "../cases/verdicts.ts";
import { consults, MODES, type Mode, shellControl, ticks } from "../support/controls.ts";
import { createPlace } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { createWindow, faulted, recorded } from "../support/window.ts";

const windowUnder = async (one: VerdictCase, mode: Mode) => {
	const place = createPlace();
	place.write("verdict.bin", mode === "serve" ? servedBytes(one) : Buffer.from(one.stdout));
	const onStderr = one.onStderr === true;
	const control = shellControl(place, `cat ${place.path("verdict.bin")}${onStderr ? " >&2" : ""}`, "control", mode);
	// A control that stays and writes nothing to stdout is waited for.
	const controlOptions = { mode, ...(onStderr ? { timeout_seconds: 2 } : {}) };
	return createWindow(1, {}, { place, control, controlOptions });
};

for (const { mode, one } of MODES.flatMap((mode) => verdictCases.map((one) => ({ mode, one })))) {
	const outcome = mode === "serve" ? (one.served ?? one.outcome) : one.outcome;
	verifies(one.id, `mode ${mode}, ${one.title}: ${outcome}`, async () => {
		const ws = await windowUnder(one, mode);
		const ran = await ws.run();
		const { agent } = ran;
		expect(consults(ws)).toHaveLength(1);
		if (outcome === "fault") {
			expect(ran, ran.stderr).toMatchObject({ code: 14, stdout: "" });
			const mark = {
				tool_use_id: "t1",
				tool: "alpha",
				kind: "fault",
				reason: expect.stringMatching(/^control fault: /),
			};
			expect(faulted(ws, agent)).toMatchObject({ mark, recorded: [], results: [] });
			expect(ws.mark(agent)?.reason).toContain(one.detail ?? "");
			expect(ticks(ws)).toEqual([]);
			return;
		}
		expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "done\n" });
		const runs = outcome === "runs";
		expect(ticks(ws)).toEqual(runs ? ["alpha"] : []);
		expect(recorded(ws, agent)).toEqual(runs ? ["001/t1"] : []);
		expect(ws.results(agent)).toMatchObject([{ id: "t1", isError: !runs }]);
		expect(ws.trailers(agent, "Lernie-Verdict")).toEqual([runs ? "pass" : "refuse"]);
		expect(ws.mark(agent)).toBeUndefined();
	});
}
