import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, rmSync } from "node:fs";
import { expect } from "vitest";
import {
	controlFile,
	detailOf,
	HANG_SECONDS,
	type Misbehaviour,
	misbehaviours,
	wellBehaved,
} from "../cases/misbehaving-controls.ts";
import { MODES, type Mode, PASS, ticks } from "../support/controls.ts";
import { createPlace, type Place } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { createWindow, faulted, HOLD, recorded } from "../support/window.ts";

const clear = (place: Place): void => rmSync(place.path("control"), { recursive: true, force: true });

/** The control as it should be: it answers `verdict`. */
const repair = (place: Place, verdict: string, mode: Mode): string => {
	clear(place);
	return place.script("control", wellBehaved(verdict, mode));
};

const spoil = (place: Place, one: Misbehaviour, mode: Mode): void => {
	repair(place, PASS, mode);
	const { instead } = one;
	const file = controlFile(one, mode);
	if (file !== undefined) place.script("control", file);
	if (instead === "a file that may not be executed") chmodSync(place.path("control"), 0o644);
	if (instead !== undefined && instead !== "a file that may not be executed") clear(place);
	if (instead === "a directory") mkdirSync(place.path("control"));
	if (instead === "a named pipe") execFileSync("mkfifo", ["-m", "755", place.path("control")]);
};

for (const { mode, one } of MODES.flatMap((mode) => misbehaviours.map((one) => ({ mode, one })))) {
	if (one.modes?.includes(mode) === false) continue;
	verifies(
		one.id,
		`a control fails in mode ${mode}, ${one.title}: nothing starts, and once it is repaired the call runs once`,
		async () => {
			const place = createPlace();
			const hangs = one.hangs?.includes(mode) === true;
			const controlOptions = { mode, ...(hangs ? { timeout_seconds: HANG_SECONDS } : {}) };
			const ws = await createWindow(1, {}, { place, control: repair(place, HOLD, mode), controlOptions });
			const held = await ws.run();
			expect(held, held.stderr).toMatchObject({ code: 10 });
			const { since } = ws.mark(held.agent) ?? {};

			// The fresh call of one agent and the held call of another meet the same control.
			spoil(place, one, mode);
			const [fresh, resumed] = await Promise.all([ws.run(), ws.advance(held.agent)]);
			for (const [ran, agent] of [
				[fresh, fresh.agent],
				[resumed, held.agent],
			] as const) {
				expect(ran, ran.stderr).toMatchObject({ code: 14, stdout: "" });
				const mark = { tool_use_id: "t1", tool: "alpha", kind: "fault", entry: "002" };
				expect(faulted(ws, agent)).toMatchObject({ mark, recorded: [], results: [] });
				const reason = ws.mark(agent)?.reason;
				expect(reason).toMatch(/^control fault: /);
				expect(reason).toContain(detailOf(one, mode));
				expect(reason).toContain(ws.path("control"));
				expect(ran.stderr).toMatch(/^control fault: control ".*" could not judge the call of "/m);
			}
			expect(ws.mark(held.agent)?.since).toBe(since);
			expect(ticks(ws)).toEqual([]);

			repair(place, PASS, mode);
			for (const agent of [fresh.agent, held.agent]) {
				const ran = await ws.advance(agent);
				expect(ran, ran.stderr).toMatchObject({ code: 0 });
				expect(ws.mark(agent)).toBeUndefined();
				expect(ws.results(agent)).toMatchObject([{ id: "t1", isError: false }]);
				expect(recorded(ws, agent)).toEqual(["001/t1"]);
			}
			expect(ticks(ws)).toEqual(["alpha", "alpha"]);
		},
		45_000,
	);
}
