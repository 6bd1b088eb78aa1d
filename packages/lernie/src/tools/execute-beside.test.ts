import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { until } from "../../../../conformance/support/place.ts";
import { isDead, readStat } from "../process/identity.ts";
import { createWorld, textOf, type World } from "./fixtures/world.ts";

let world: World;
beforeEach(() => {
	world = createWorld();
});
afterEach(() => world.remove());

const cut = { timeoutSeconds: 0.3, graceSeconds: 0.1 };

test("a call that is past its time limit does not take one with it whose directory begins like its own", async () => {
	const [begun, go] = [join(world.root, "begun"), join(world.root, "go")];
	world.tool("patient", `: > ${begun}; while [ ! -e ${go} ]; do sleep 0.01; done; echo whole`);
	world.tool("stuck", "sleep 300");
	const patient = world.run({ name: "patient" }, { directory: "t1-10" });
	await until("it runs", () => existsSync(begun));
	expect(textOf(await world.run({ name: "stuck" }, { directory: "t1-1", ...cut }))).toMatch(/^timed out after 0.3 s\n/);
	writeFileSync(go, "");
	expect(textOf(await patient)).toBe("Exit code: 0\nwhole\n");
});

test("what such a call started outside its group ends with it", async () => {
	const pid = join(world.root, "pid");
	world.tool("stuck", `setsid sh -c 'echo $$ > ${pid}; exec sleep 300' & sleep 300`);
	await world.run({ name: "stuck" }, { directory: "t1-1", timeoutSeconds: 1, graceSeconds: 0.1 });
	const left = Number(readFileSync(pid, "utf8"));
	const stat = readStat(left);
	expect(stat === undefined || isDead(stat)).toBe(true);
});
