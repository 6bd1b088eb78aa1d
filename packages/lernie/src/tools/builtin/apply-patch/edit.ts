import { type Budget, createSearcher, type Match, type Rung, type Searcher } from "./match.ts";
import { done, type Outcome, quoted, refused } from "./outcome.ts";
import { type Hunk, textsWithout } from "./parse.ts";
import { dominantEnding, type Ending, joinText, splitText, type TextLines } from "./text.ts";

/** Where a hunk was found: a line of the file as it was, from 1, and what stands there where it is not what was asked for. */
export interface HunkReport {
	readonly rung: Rung;
	readonly line: number;
	readonly matched?: string;
}

interface Placed {
	readonly at: number;
	/** How many lines of the file the hunk's context and removals are. */
	readonly length: number;
	readonly report: HunkReport;
}

const LINE_NUMBERS = /^\s*-\d+(,\d+)? \+\d+(,\d+)? @@/;

const reportOf = (texts: readonly string[], rung: Rung, from: number, to: number): HunkReport => ({
	rung,
	line: from + 1,
	...(rung === "exact" ? {} : { matched: texts.slice(from, to).join("\n") }),
});

const behind = (cursor: number): string => (cursor === 0 ? "" : ` behind line ${cursor}`);

/** Why the lines of a hunk are nowhere, in words that help to write them better. */
const explainMiss = (texts: readonly string[], search: Searcher, wanted: readonly string[], cursor: number): string => {
	const earlier = cursor === 0 ? undefined : search.lines(wanted, 0, false);
	if (earlier?.kind === "found")
		return `they are at line ${earlier.at + 1}; hunks and anchors go from top to bottom, each behind the one before`;
	const close = search.closest(wanted, cursor);
	if (close === undefined) return `the first of them, ${quoted(wanted[0] ?? "")}, is not there`;
	const [here, miss] = [texts[close.at + close.length], wanted[close.length] ?? ""];
	const stands = here === undefined ? "the file ends" : `there is ${quoted(here)}`;
	return `the first ${close.length} of them are at line ${close.at + 1}, but then ${stands} and the patch has ${quoted(miss)}`;
};

const refusal = (hunk: Hunk, why: string): Outcome<never> => refused(`hunk at line ${hunk.line}: ${why}`);

const refuseMatch = (hunk: Hunk, match: Exclude<Match, { kind: "found" | "none" }>): Outcome<never> => {
	if (match.kind === "too-much-work")
		return refusal(hunk, "finding it takes too long in this file; use smaller hunks with anchors, or bash");
	const lines = match.places.map((place) => place + 1).join(", ");
	const more = match.count > match.places.length ? ", …" : "";
	const found = `its context is there ${match.count} times (${match.rung}), at lines ${lines}${more}`;
	return refusal(hunk, `${found}; add context or an @@ anchor`);
};

/** Moves the cursor behind the anchors; `rung` is that of the last one. */
const passAnchors = (hunk: Hunk, search: Searcher, from: number): Outcome<{ cursor: number; rung: Rung }> => {
	let passed: { cursor: number; rung: Rung } = { cursor: from, rung: "exact" };
	for (const anchor of hunk.anchors) {
		const match = search.anchor(anchor, passed.cursor);
		if (match.kind === "none") {
			const hint = LINE_NUMBERS.test(anchor) ? "; an anchor is the text of a line, not line numbers" : "";
			return refusal(hunk, `the anchor ${quoted(anchor)} is not there${behind(passed.cursor)}${hint}`);
		}
		if (match.kind !== "found") return refuseMatch(hunk, match);
		passed = { cursor: match.at + 1, rung: match.rung };
	}
	return done(passed);
};

const place = (hunk: Hunk, texts: readonly string[], search: Searcher, from: number): Outcome<Placed> => {
	const anchored = passAnchors(hunk, search, from);
	if (!anchored.ok) return anchored;
	const { cursor, rung } = anchored.value;
	const wanted = textsWithout("add", hunk.lines);
	if (wanted.length === 0) {
		if (hunk.atEnd) return done({ at: texts.length, length: 0, report: { rung: "exact", line: texts.length + 1 } });
		const { matched } = reportOf(texts, rung, cursor - 1, cursor);
		const report = { rung, line: cursor + 1, ...(matched === undefined ? {} : { matched }) };
		return done({ at: cursor, length: 0, report });
	}
	const match = search.lines(wanted, cursor, hunk.atEnd);
	if (match.kind === "none")
		return refusal(hunk, `its context is not there${behind(cursor)}: ${explainMiss(texts, search, wanted, cursor)}`);
	if (match.kind !== "found") return refuseMatch(hunk, match);
	const end = match.at + wanted.length;
	return done({ at: match.at, length: wanted.length, report: reportOf(texts, match.rung, match.at, end) });
};

/** The lines of a hunk as they will stand: context is the file's own, whatever the patch has for it. */
const replaced = (
	hunk: Hunk,
	before: TextLines,
	at: number,
	ending: Ending,
): readonly (readonly [string, Ending])[] => {
	// A model that saw the mark at the file's begin may have written it again.
	const added = (text: string): string =>
		at === 0 && before.mark !== "" && text.startsWith(before.mark) ? text.slice(before.mark.length) : text;
	let index = at;
	return hunk.lines.flatMap(({ kind, text }): (readonly [string, Ending])[] => {
		if (kind === "add") return [[added(text), ending]];
		index += 1;
		return kind === "remove" ? [] : [[before.texts[index - 1] ?? "", before.endings[index - 1] ?? ""]];
	});
};

export interface Edited {
	readonly text: string;
	readonly hunks: readonly HunkReport[];
}

/**
 * A file's text with all hunks applied, each found from the end of the one before on (`spec/tools.md` §10.7), or why not.
 * What no hunk adds keeps its bytes, line endings too; added lines get the ending most lines have; a text that does not
 * end in a newline still does not.
 */
export const applyHunks = (whole: string, hunks: readonly Hunk[], budget: Budget): Outcome<Edited> => {
	const before = splitText(whole);
	const vocabulary = hunks.flatMap((hunk) => [...hunk.anchors, ...textsWithout("add", hunk.lines)]);
	const search = createSearcher(before.texts, vocabulary, budget);
	const ending = dominantEnding(before);
	const [texts, endings, reports]: [string[], Ending[], HunkReport[]] = [[], [], []];
	let cursor = 0;
	const keepUntil = (end: number): void => {
		for (; cursor < end; cursor += 1) {
			texts.push(before.texts[cursor] ?? "");
			endings.push(before.endings[cursor] ?? "");
		}
	};
	for (const hunk of hunks) {
		const placed = place(hunk, before.texts, search, cursor);
		if (!placed.ok) return placed;
		const { at, length, report } = placed.value;
		keepUntil(at);
		for (const [text, lineEnding] of replaced(hunk, before, at, ending)) {
			texts.push(text);
			endings.push(lineEnding);
		}
		cursor = at + length;
		reports.push(report);
	}
	keepUntil(before.texts.length);
	const terminated = before.endings.at(-1) !== "";
	return done({ text: joinText({ mark: before.mark, texts, endings }, { terminated, ending }), hunks: reports });
};
