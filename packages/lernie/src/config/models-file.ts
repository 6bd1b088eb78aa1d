import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { ENV, errnoOf, LernieError, messageOf } from "@lernie/contract";
import { type ModelRowFile, modelsSchema } from "@lernie/contract/config";
import type { Roots } from "../workspace/roots.ts";
import { readYaml } from "./strict-yaml.ts";

/** `models.yaml` of the config root: this machine's rows, and nothing of policy (DESIGN §4). */
export interface ModelRows {
	readonly file: string;
	/** The reference's form: one executable for every row. */
	readonly adapter: string | undefined;
	readonly rows: ReadonlyMap<string, ModelRowFile>;
}

interface ScriptedRow {
	readonly kind: "scripted";
	readonly row: string;
	/** Absolute. */
	readonly script: string;
}

/** A program that is the model. */
export interface CommandRow {
	readonly kind: "command";
	readonly row: string;
	/** Absolute. */
	readonly program: string;
	/** What the program is told as `--provider`. */
	readonly provider: string;
	/** Names of variables that it gets beside the closed list of CONTRACTS §5. */
	readonly env: readonly string[];
}

/** A row that this version can use. */
export type UsableRow = ScriptedRow | CommandRow;

const BUILT_IN = "scripted";

/** Reads `models.yaml`; missing or empty, only the built-in rows exist. Throws `CONFIG` with line and column. */
export const readModelRows = async (roots: Roots): Promise<ModelRows> => {
	const file = join(roots.config, "models.yaml");
	let bytes: Buffer;
	try {
		bytes = await readFile(file);
	} catch (thrown) {
		if (errnoOf(thrown) === "ENOENT") return { file, adapter: undefined, rows: new Map() };
		throw new LernieError("CONFIG", `${file}: cannot be read: ${messageOf(thrown)}`, { file }, thrown);
	}
	const { adapter, providers } = readYaml(modelsSchema, file, bytes);
	return { file, adapter: adapter ?? undefined, rows: new Map(Object.entries(providers ?? {})) };
};

/** Names of the rows that exist here, the built-in one among them. */
export const rowNames = ({ rows }: ModelRows): readonly string[] => [...new Set([BUILT_IN, ...rows.keys()])].sort();

/** Whether a role may name this row; one adapter for every row answers any name. */
export const hasRow = (rows: ModelRows, row: string): boolean =>
	rows.adapter !== undefined || rowNames(rows).includes(row);

const later = ({ file }: ModelRows, row: string, adapter: string): LernieError =>
	new LernieError(
		"CONFIG",
		`${file}: row ${JSON.stringify(row)}: the adapter ${JSON.stringify(adapter)} is not in this version yet; \`scripted\` and \`command\` are`,
		{
			file,
			row,
		},
	);

const writtenRow = (rows: ModelRows, row: string, written: ModelRowFile): UsableRow => {
	const fromFile = (path: string): string => resolve(dirname(rows.file), path);
	switch (written.adapter) {
		case "scripted":
			return { kind: "scripted", row, script: fromFile(written.script) };
		case "command": {
			const { command, row: provider = row, env = [] } = written;
			return { kind: "command", row, program: fromFile(command), provider, env };
		}
		case "ai-sdk":
			throw later(rows, row, written.adapter);
		default:
			return written satisfies never;
	}
};

/**
 * The row a role names, ready for use (CONTRACTS §8). Throws `PROVIDER_UNKNOWN`, naming the rows, where there is none,
 * and `CONFIG` where this version cannot use it or where `LERNIE_SCRIPT` would have to be set and is not.
 */
export const findRow = (rows: ModelRows, row: string, env: Readonly<Record<string, string | undefined>>): UsableRow => {
	const written = rows.rows.get(row);
	if (written !== undefined) return writtenRow(rows, row, written);
	if (row === BUILT_IN) {
		const script = env[ENV.script];
		if (script !== undefined && script !== "") return { kind: "scripted", row, script: resolve(script) };
		const why = `it plays the file that ${ENV.script} names, and that is not set`;
		throw new LernieError(
			"CONFIG",
			`model row ${JSON.stringify(row)}: ${why}. set it, or write the row in ${rows.file}`,
			{ row },
		);
	}
	if (rows.adapter !== undefined)
		return { kind: "command", row, program: resolve(dirname(rows.file), rows.adapter), provider: row, env: [] };
	const names = rowNames(rows);
	throw new LernieError(
		"PROVIDER_UNKNOWN",
		`there is no model row ${JSON.stringify(row)}. the rows are ${names.join(", ")}; more are written in ${rows.file}`,
		{ row, rows: names, file: rows.file },
	);
};

/** What answers a role that names this row on this machine, in a few words for people. */
export const rowText = (rows: ModelRows, row: string): string => {
	const written = rows.rows.get(row);
	if (written?.adapter === "ai-sdk") return `the package ${written.package}, not in this version yet`;
	if (written === undefined && row === BUILT_IN) return `plays the file that ${ENV.script} names`;
	if (!hasRow(rows, row)) return "there is no such row on this machine";
	const found = findRow(rows, row, {});
	return found.kind === "scripted" ? `plays ${found.script}` : `runs ${found.program} --provider ${found.provider}`;
};
