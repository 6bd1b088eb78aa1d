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

/** A row that this version can use. */
export interface UsableRow {
	readonly kind: "scripted";
	readonly row: string;
	/** Absolute. */
	readonly script: string;
}

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

const later = ({ file }: ModelRows, row: string, what: string): LernieError =>
	new LernieError(
		"CONFIG",
		`${file}: row ${JSON.stringify(row)}: ${what} is not in this version yet; rows with \`adapter: scripted\` work`,
		{
			file,
			row,
		},
	);

/**
 * The row a role names, ready for use (CONTRACTS §8). Throws `PROVIDER_UNKNOWN`, naming the rows, where there is none,
 * and `CONFIG` where this version cannot use it or where `LERNIE_SCRIPT` would have to be set and is not.
 */
export const findRow = (rows: ModelRows, row: string, env: Readonly<Record<string, string | undefined>>): UsableRow => {
	const written = rows.rows.get(row);
	if (written?.adapter === "scripted")
		return { kind: "scripted", row, script: resolve(dirname(rows.file), written.script) };
	if (written !== undefined) throw later(rows, row, `the adapter ${JSON.stringify(written.adapter)}`);
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
	if (rows.adapter !== undefined) throw later(rows, row, "an adapter for every row (`adapter:`)");
	const names = rowNames(rows);
	throw new LernieError(
		"PROVIDER_UNKNOWN",
		`there is no model row ${JSON.stringify(row)}. the rows are ${names.join(", ")}; more are written in ${rows.file}`,
		{ row, rows: names, file: rows.file },
	);
};
