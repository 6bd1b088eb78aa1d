import { applyPatch } from "./apply-patch/apply-patch.ts";
import { bash } from "./bash.ts";
import { cd } from "./cd.ts";
import { message } from "./message.ts";
import { readFile } from "./read-file.ts";
import { type Builtin, type BuiltinAnswer, failure } from "./types.ts";

/** The built-in tools of this build, sorted by name. A map, so that `constructor` is a name like any other. */
export const BUILTINS: ReadonlyMap<string, Builtin> = new Map([
	["apply_patch", applyPatch],
	["bash", bash],
	["cd", cd],
	["message", message],
	["read_file", readFile],
]);

/** How a call of a name ends that no tool answers to (`spec/tools.md` §10). */
export const unknownTool = (name: string): BuiltinAnswer =>
	failure(name, `unknown built-in tool: ${JSON.stringify(name)}; available: ${[...BUILTINS.keys()].sort().join(", ")}`);
