import { findRow, type ModelRows } from "../config/models-file.ts";
import { createCommandAdapter } from "./command/adapter.ts";
import { createScriptedAdapter } from "./scripted/adapter.ts";
import type { AdapterPlace, ModelAdapter } from "./types.ts";

/**
 * The adapter behind a model row. Throws `PROVIDER_UNKNOWN` or `CONFIG` where the row cannot be used here; what lies
 * behind it, such as the script of a scripted row, is first read by `check` or by a call.
 */
export const createAdapter = (row: string, rows: ModelRows, place: AdapterPlace): ModelAdapter => {
	const found = findRow(rows, row, place.env);
	return found.kind === "command" ? createCommandAdapter(found, place) : createScriptedAdapter(found.row, found.script);
};
