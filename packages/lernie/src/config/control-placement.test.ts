import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkControlPlacement } from "./control-placement.ts";
import { faultOf, withConfig } from "./fixture.ts";

test("a control, or a link on the way to it, may not lie where an agent works", () =>
	withConfig(async ({ directory, workspace, write }) => {
		const outside = write("bin/ctl", "");
		const inside = write("ws/agents/a/ctl", "");
		mkdirSync(join(workspace, "work"));
		symlinkSync(outside, join(workspace, "agents/a/out"));
		symlinkSync(inside, join(directory, "bin/in"));
		symlinkSync("../ws/agents/a/out", join(directory, "bin/through"));
		symlinkSync(join(workspace, "agents"), join(directory, "door"));
		symlinkSync(workspace, join(directory, "alias"));
		symlinkSync("loop", join(directory, "bin/loop"));
		await checkControlPlacement(outside, workspace);
		await checkControlPlacement(join(workspace, "agentsctl"), workspace);
		await checkControlPlacement(join(directory, "bin/missing"), workspace);
		await checkControlPlacement(join(directory, "bin/loop"), workspace);
		for (const refused of [
			inside,
			join(workspace, "agents/missing/ctl"),
			join(workspace, "work/x/ctl"),
			join(workspace, "agents/a/out"),
			join(directory, "bin/in"),
			join(directory, "bin/through"),
			join(directory, "door/a/ctl"),
			join(directory, "alias/agents/a/ctl"),
			join(directory, "bin/../ws/agents/a/ctl"),
		])
			expect(await faultOf(() => checkControlPlacement(refused, workspace)), refused).toMatchObject({ code: "CONFIG" });
		expect((await faultOf(() => checkControlPlacement(inside, join(directory, "alias")))).code).toBe("CONFIG");
		expect((await faultOf(() => checkControlPlacement(outside, workspace, directory))).code).toBe("CONFIG");
	}));
