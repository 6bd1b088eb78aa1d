import { afterAll } from "vitest";
import { SITES } from "../conformance/cases/crash.ts";
import { verifies } from "../conformance/support/verifies.ts";
import { killAtSite } from "./kill-once.ts";
import { removeTemplates } from "./story.ts";

afterAll(removeTemplates);

for (const one of SITES)
	verifies(one.id, `a driver killed at ${one.site} with all it started is recovered by the next drive`, () =>
		killAtSite(one, "family", true),
	);
