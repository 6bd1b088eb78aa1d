import { DIGEST_SHOWN } from "@lernie/contract";

/** Characters that could hide or rewrite what a person reads: controls, invisible and direction-changing ones. */
const HIDING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cs}]/gu;

/** Text from a model or a control, safe for a terminal: what cannot be seen is written out. */
export const printable = (text: string): string =>
	text.replace(HIDING, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);

/** The same, cut to `length` characters with the number of those left out. */
export const excerpt = (text: string, length: number): string => {
	const shown = printable(text);
	return shown.length <= length ? shown : `${shown.slice(0, length)}… (${shown.length - length} more)`;
};

/** Text of several lines, each safe for a terminal, cut to `lines` with the number of those left out. */
export const excerptLines = (text: string, lines: number): readonly string[] => {
	const all = text.replace(/\n$/, "").split("\n");
	const shown = all.slice(0, lines).map(printable);
	return all.length <= lines ? shown : [...shown, `… (${all.length - lines} more lines)`];
};

/** Columns of a table, aligned by the widest cell; no border, no trailing blanks. */
export const table = (rows: readonly (readonly string[])[]): string => {
	const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
	return rows
		.map((row) =>
			row
				.map((cell, column) => cell.padEnd(widths[column] ?? 0))
				.join("  ")
				.trimEnd(),
		)
		.join("\n");
};

/** As much of a digest as people are shown. */
export const shortDigest = (digest: string): string => digest.slice(0, DIGEST_SHOWN);
