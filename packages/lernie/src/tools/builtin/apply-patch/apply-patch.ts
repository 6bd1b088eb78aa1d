import { readStrings } from "../input.ts";
import { type Builtin, failure, success } from "../types.ts";
import { parsePatch } from "./parse.ts";
import { planPatch } from "./plan.ts";
import { writeChanges } from "./write.ts";

const TOOL = "apply_patch";

/** `{input}`: changes files by one patch, all of it or nothing (`spec/tools.md` §10.7). */
export const applyPatch: Builtin = async (input, { cwd, crash }) => {
	const given = readStrings(input, ["input"]);
	if (!given.ok) return failure(TOOL, given.why);
	const parsed = parsePatch(given.values.input);
	if (!parsed.ok) return failure(TOOL, parsed.why);
	const planned = await planPatch(parsed.value, cwd);
	if (!planned.ok) return failure(TOOL, planned.why);
	const written = await writeChanges(planned.value, crash);
	if (!written.ok) return failure(TOOL, written.why);
	const files = planned.value.map(({ report }) => report);
	return success(Buffer.from(JSON.stringify({ status: "applied", files })));
};
