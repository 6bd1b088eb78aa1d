import { expect } from "vitest";
import { type VerdictCase, verdictCases } from "../cases/verdicts.ts";
import { consults, shellControl, ticks } from "../support/controls.ts";
import { createPlace } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { createWindow, faulted, recorded } from "../support/window.ts";

const windowUnder = async ({ stdout, onStderr }: VerdictCase) => {
	const place = createPlace();
	place.write("verdict.bin", Buffer.from(stdout));
	const control = shellControl(place, `cat ${place.path("verdict.bin")}${onStderr === true ? " >&2" : ""}`);
	return createWindow(1, {}, { place, control });
};

for (const one of verdictCases)
	verifies(one.id, `${one.title}: ${one.outcome}`, async () => {
		const ws = await windowUnder(one);
		const ran = await ws.run();
		const { agent } = ran;
		expect(consults(ws)).toHaveLength(1);
		if (one.outcome === "fault") {
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
		const runs = one.outcome === "runs";
		expect(ticks(ws)).toEqual(runs ? ["alpha"] : []);
		expect(recorded(ws, agent)).toEqual(runs ? ["001/t1"] : []);
		expect(ws.results(agent)).toMatchObject([{ id: "t1", isError: !runs }]);
		expect(ws.trailers(agent, "Lernie-Verdict")).toEqual([runs ? "pass" : "refuse"]);
		expect(ws.mark(agent)).toBeUndefined();
	});
