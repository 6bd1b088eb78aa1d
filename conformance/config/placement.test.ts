import { expect } from "vitest";
import { PASS, sayingControl } from "../support/controls.ts";
import { createPlace, until } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

verifies("contract-cd-keeps-control", "an agent cannot lock itself out with cd", async () => {
	const place = createPlace();
	const ws = await createWorkspace({
		place,
		control: sayingControl(place, PASS),
		script: {
			calls: [{ tools: [{ name: "cd", input: { path: place.root } }] }, { say: "moved" }, { say: "still here" }],
		},
	});
	const ran = await ws.run("go up");
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect((await ws.in(["message", ran.agent, "and now?"])).code).toBe(0);
	await until("the message is answered", () => ws.entries(ran.agent).length === 6);
});
