import { expect } from "vitest";
import { SITES } from "../conformance/cases/crash.ts";
import { createPlace } from "../conformance/support/place.ts";
import { verifies } from "../conformance/support/verifies.ts";

/** Sites of the authority store, which no drive passes; its own tests kill there. */
const NOT_OF_A_DRIVE = ["answer.line", "answer.head"];

verifies("crash-sites", "every crash site that doctor lists is cut by a test", async () => {
	const { code, stdout } = await createPlace().lernie(["doctor", "--crash-sites"]);
	expect(code).toBe(0);
	const listed = stdout.trimEnd().split("\n");
	expect(listed.length).toBeGreaterThan(0);
	expect(SITES.map(({ site }) => site).sort()).toEqual(listed.filter((site) => !NOT_OF_A_DRIVE.includes(site)).sort());
	expect(SITES.filter(({ id, site }) => id !== `crash-${site}`)).toEqual([]);
});

verifies("crash-sites", "a site that does not exist is misuse, so that no test passes by a typing error", async () => {
	const place = createPlace();
	const ran = await place.lernie(["doctor"], { env: { LERNIE_CRASH_AT: "tool.spwaned" } });
	expect(ran).toMatchObject({ code: 2, stdout: "" });
	expect(ran.stderr).toContain('"tool.spwaned"');
});
