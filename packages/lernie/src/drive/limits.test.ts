import { expect, test } from "vitest";
import { exhausted } from "./limits.ts";

test.each([
	[{ steps: 2, minutes: 1 }, { modelCalls: 1, milliseconds: 59_999 }, undefined],
	[{ steps: 2, minutes: 1 }, { modelCalls: 2, milliseconds: 0 }, "2 of 2 model calls"],
	[{ steps: 2, minutes: 1 }, { modelCalls: 0, milliseconds: 60_000 }, "1 minutes"],
	[{ steps: undefined, minutes: undefined }, { modelCalls: 1e6, milliseconds: 1e12 }, undefined],
])("with %j and %j used", (limits, used, why) => {
	const said = exhausted(limits, used);
	if (why === undefined) expect(said).toBeUndefined();
	else expect(said).toContain(why);
});
