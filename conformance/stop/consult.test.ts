import { expect } from "vitest";
import { consults, MODES, type Mode, PASS, shellControl, ticks, waitingControl } from "../support/controls.ts";
import { expectRest, expectStopped, isReady, startRun, waitingTool } from "../support/driving.ts";
import { createPlace, type Place, processesNaming } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { CALLS, createWindow, HOLD, REFUSE } from "../support/window.ts";
import type { Workspace } from "../support/workspace.ts";

const create = (place: Place, control: string, mode: Mode): Promise<Workspace> =>
	createWindow(3, {}, { place, control, controlOptions: { mode } });

/** Stops a drive whose control waits in the consult about a call of `CALLS`, and looks at what it leaves. */
const stopInConsult = async (mode: Mode, at: 0 | 1 | 2, onTerm?: string): Promise<void> => {
	const place = createPlace();
	const ws = await create(place, waitingControl(place, CALLS[at].id, onTerm, mode), mode);
	const run = await startRun(ws);
	await isReady(ws, "control");
	const from = performance.now();
	const ran = await run.stop();
	expect(performance.now() - from, "far less than the control's deadline").toBeLessThan(10_000);
	await expectStopped(ws, run.agent, ran);
	expect(processesNaming(ws.root)).toEqual([]);
	expectRest(ws, run.agent, at, "not started");
	expect(ticks(ws)).toEqual(CALLS.slice(0, at).map(({ name }) => name));
	expect([consults(ws).length, ws.mark(run.agent)]).toEqual([at + 1, undefined]);
};

const json = (verdict: object): string => JSON.stringify(verdict).replaceAll('"', '\\"');

for (const mode of MODES) {
	for (const at of [0, 1, 2] as const)
		verifies(
			["core-11", "tools-42", "cli-E11", "stop-consult"],
			`${mode}: stopped while the control is asked about call ${at + 1}: it is ended, the call is told as not started`,
			() => stopInConsult(mode, at),
		);

	verifies("tools-43", `${mode}: a control that fails because a stop has come does not fail the drive`, () =>
		stopInConsult(mode, 1, "exit 1"),
	);

	verifies("tools-44", `${mode}: a control that passes the call because a stop has come does not let it run`, () =>
		stopInConsult(mode, 1, `say "${json({ verdict: "pass" })}"; exit 0`),
	);

	for (const [what, onTerm] of [
		["refuses the call", `say "${json({ verdict: "refuse", reason: "no" })}"; exit 0`],
		["holds the call", `say "${json({ verdict: "hold", reason: "no" })}"; exit 0`],
		["prints no verdict", "echo what; exit 0"],
	] as const)
		verifies("stop-consult", `${mode}: a control that ${what} because a stop has come is not heard`, () =>
			stopInConsult(mode, 1, onTerm),
		);

	verifies("stop-consult", `${mode}: a control that ignores SIGTERM is killed`, () => stopInConsult(mode, 0, ""));

	for (const [name, verdict] of [
		["a pass", PASS],
		["a refusal", REFUSE],
		["a hold", HOLD],
		["no verdict", "{}"],
	] as const)
		verifies("stop-consult", `${mode}: a stop that comes before ${name} is what counts`, async () => {
			const place = createPlace();
			const body = `trap '' TERM; kill -TERM $PPID; sleep 0.2; say '${verdict}'`;
			const ws = await create(place, shellControl(place, body, "control", mode), mode);
			const run = await startRun(ws);
			await expectStopped(ws, run.agent, await run.ended);
			expectRest(ws, run.agent, 0, "not started");
			expect([ticks(ws), consults(ws).length, ws.mark(run.agent)]).toEqual([[], 1, undefined]);
		});
}

verifies("stop-consult", "a control that stays is ended with a drive that is stopped in a tool", async () => {
	const place = createPlace();
	const ws = await create(place, shellControl(place, `say '${PASS}'`, "control", "serve"), "serve");
	waitingTool(ws, "beta");
	const run = await startRun(ws);
	await isReady(ws, "beta");
	await expectStopped(ws, run.agent, await run.stop());
	expect(processesNaming(ws.root)).toEqual([]);
	expectRest(ws, run.agent, 1, "started");
});
