import { type Budget, createSearcher, type Match, type Rung, type Searcher } from "./match.ts";
import { done, type Outcome, quoted, refused } from "./outcome.ts";
import { type Hunk, textsWithout } from "./parse.ts";
import { createJoiner, dominantEnding, splitText, type TextLines } from "./text.ts";

/** Where a hunk was found: a line of the file as it was, from 1, and what stands there where it is not what was asked for. */
export interface HunkReport {
	readonly rung: Rung;
	readonly line: number;
	readonly matched?: string;
}

interface Placed {
	/** The first line of its context and removals, or the one that its lines come before. */
	readonly at: number;
	readonly report: HunkReport;
}

const LINE_NUMBERS = /^\s*-\d+(,\d+)? \+\d+(,\d+)? @@/;

const textsOf = (file: TextLines, from: number, to: number): string =>
	Array.from({ length: to - from }, (_, at) => file.text(from + at)).join("\n");

const reportOf = (file: TextLines, rung: Rung, from: number, to: number): HunkReport => ({
	rung,
	line: from + 1,
	...(rung === "exact" ? {} : { matched: textsOf(file, from, to) }),
});

const behind = (cursor: number): string => (cursor === 0 ? "" : ` behind line ${cursor}`);

/** Why the lines of a hunk are nowhere, in words that help to write them better. */
const explainMiss = (file: TextLines, search: Searcher, wanted: readonly string[], cursor: number): string => {
	const earlier = cursor === 0 ? undefined : search.lines(wanted, 0, false);
	if (earlier?.kind === "found")
		return `they are at line ${earlier.at + 1}; hunks and anchors go from top to bottom, each behind the one before`;
	const close = search.closest(wanted, cursor);
	if (close === undefined) return `the first of them, ${quoted(wanted[0] ?? "")}, is not there`;
	const [line, miss] = [close.at + close.length, wanted[close.length] ?? ""];
	const stands = line < file.length ? `there is ${quoted(file.text(line))}` : "the file ends";
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

const place = (hunk: Hunk, file: TextLines, search: Searcher, from: number): Outcome<Placed> => {
	const anchored = passAnchors(hunk, search, from);
	if (!anchored.ok) return anchored;
	const { cursor, rung } = anchored.value;
	const wanted = textsWithout("add", hunk.lines);
	if (wanted.length === 0) {
		if (hunk.atEnd) return done({ at: file.length, report: { rung: "exact", line: file.length + 1 } });
		const { matched } = reportOf(file, rung, cursor - 1, cursor);
		const report = { rung, line: cursor + 1, ...(matched === undefined ? {} : { matched }) };
		return done({ at: cursor, report });
	}
	const match = search.lines(wanted, cursor, hunk.atEnd);
	if (match.kind === "none")
		return refusal(hunk, `its context is not there${behind(cursor)}: ${explainMiss(file, search, wanted, cursor)}`);
	if (match.kind !== "found") return refuseMatch(hunk, match);
	const end = match.at + wanted.length;
	return done({ at: match.at, report: reportOf(file, match.rung, match.at, end) });
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
	const search = createSearcher(before, vocabulary, budget);
	const after = createJoiner(before, dominantEnding(before));
	const reports: HunkReport[] = [];
	/** A model that saw the mark where the file begins may have written it again. */
	const unmarked = (text: string): string => (text.startsWith(before.mark) ? text.slice(before.mark.length) : text);
	let cursor = 0;
	const keepUntil = (end: number): void => {
		if (end > cursor) after.keep(before.slice(cursor, end), before.ending(end - 1));
		cursor = end;
	};
	for (const hunk of hunks) {
		const placed = place(hunk, before, search, cursor);
		if (!placed.ok) return placed;
		const { at, report } = placed.value;
		keepUntil(at);
		for (const { kind, text } of hunk.lines) {
			if (kind === "context") keepUntil(cursor + 1);
			else if (kind === "remove") cursor += 1;
			else after.add(at === 0 ? unmarked(text) : text);
		}
		reports.push(report);
	}
	keepUntil(before.length);
	return done({ text: after.joined(), hunks: reports });
};
