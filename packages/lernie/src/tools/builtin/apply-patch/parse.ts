import { done, type Outcome, quoted, refused } from "./outcome.ts";

export interface HunkLine {
	readonly kind: "context" | "remove" | "add";
	readonly text: string;
}

/** One place of a file that changes. `line` is where it begins in the patch, from 1. */
export interface Hunk {
	readonly line: number;
	readonly anchors: readonly string[];
	readonly lines: readonly HunkLine[];
	/** `*** End of File`: its last line is the file's. */
	readonly atEnd: boolean;
}

interface PatchPath {
	readonly path: string;
	/** Where the patch names it, from 1. */
	readonly line: number;
}

export type Operation =
	| (PatchPath & { readonly kind: "add"; readonly content: readonly string[] })
	| (PatchPath & { readonly kind: "delete" })
	| (PatchPath & { readonly kind: "update"; readonly moveTo?: PatchPath; readonly hunks: readonly Hunk[] });

interface OpenHunk {
	readonly line: number;
	readonly anchors: string[];
	readonly lines: HunkLine[];
	atEnd: boolean;
}

type Section =
	| (PatchPath & { readonly kind: "add"; readonly content: string[] })
	| (PatchPath & { readonly kind: "delete" })
	| (PatchPath & { readonly kind: "update"; moveTo?: PatchPath; readonly hunks: OpenHunk[]; closed: boolean });

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const END_OF_FILE = "*** End of File";
const HEADERS = [
	["add", "*** Add File:"],
	["delete", "*** Delete File:"],
	["update", "*** Update File:"],
	["move", "*** Move to:"],
] as const;
const BODY: ReadonlyMap<string | undefined, HunkLine["kind"]> = new Map([
	[" ", "context"],
	["-", "remove"],
	["+", "add"],
]);

const isBlank = (line: string): boolean => line.trim() === "";
const withoutReturn = (line: string): string => (line.endsWith("\r") ? line.slice(0, -1) : line);
const at = (line: number, why: string): Outcome<never> => refused(`line ${line}: ${why}`);
const fine: Outcome<undefined> = done(undefined);

/** The texts of a hunk's lines without those of one kind: what is there before it, or after. */
export const textsWithout = (kind: HunkLine["kind"], lines: readonly HunkLine[]): readonly string[] =>
	lines.filter((line) => line.kind !== kind).map(({ text }) => text);

/** A header line with what it names. The blank behind the colon is part of the word: nothing else is read as a header. */
const headerOf = (text: string): { kind: "add" | "delete" | "update" | "move"; path: string } | undefined => {
	for (const [kind, word] of HEADERS)
		if (text === word || text.startsWith(`${word} `)) return { kind, path: text.slice(word.length + 1) };
	return undefined;
};

const checkPath = ({ path, line }: PatchPath): Outcome<undefined> => {
	if (path.trim() === "") return at(line, "the path is missing");
	// Trimmed, it would be another file; who judges a patch reads its paths trimmed.
	if (path !== path.trim()) return at(line, "the path begins or ends with white space; write it without");
	if (path.includes("\0")) return at(line, "the path holds a NUL character");
	return path.endsWith("/") ? at(line, `${path} names a directory, not a file`) : fine;
};

const checkHunk = ({ line, anchors, lines, atEnd }: OpenHunk): Outcome<undefined> => {
	const [before, after] = [textsWithout("add", lines), textsWithout("remove", lines)];
	if (before.length === after.length && before.every((text, n) => text === after[n]))
		return at(line, "this hunk changes nothing");
	if (before.length === 0 && anchors.length === 0 && !atEnd)
		return at(line, `a hunk that only adds lines says where: by context, an @@ anchor or ${END_OF_FILE}`);
	return fine;
};

const checkSection = (section: Section | undefined): Outcome<undefined> => {
	if (section?.kind !== "update") return fine;
	if (section.hunks.length === 0) return at(section.line, "this update has no hunks");
	return section.hunks.map(checkHunk).find(({ ok }) => !ok) ?? fine;
};

/** The hunk that is being read; a new one where `fresh` says that this line cannot belong to it. */
const hunkFor = (section: Section & { kind: "update" }, line: number, fresh: (open: OpenHunk) => boolean): OpenHunk => {
	const open = section.hunks.at(-1);
	if (open !== undefined && !section.closed && !fresh(open)) return open;
	const hunk: OpenHunk = { line, anchors: [], lines: [], atEnd: false };
	section.hunks.push(hunk);
	section.closed = false;
	return hunk;
};
const hasLines = ({ lines }: OpenHunk): boolean => lines.length > 0;

const readUpdateLine = (section: Section & { kind: "update" }, raw: string, line: number): Outcome<undefined> => {
	const text = raw.trimEnd();
	if (text === "" && section.closed) return fine;
	if (text === "@@") {
		hunkFor(section, line, hasLines);
	} else if (text.startsWith("@@ ")) {
		hunkFor(section, line, hasLines).anchors.push(withoutReturn(raw).slice(3));
	} else if (text === END_OF_FILE) {
		const open = section.hunks.at(-1);
		if (open === undefined || section.closed || !hasLines(open))
			return at(line, `${END_OF_FILE} belongs behind a hunk`);
		open.atEnd = true;
		section.closed = true;
	} else {
		const kind = BODY.get(raw[0]);
		if (kind === undefined && text !== "")
			return at(line, `unrecognised line ${quoted(raw)}; a line of a hunk begins with a blank, - or +`);
		// An empty line is an empty line of context: that its blank was lost changes nothing in what it says.
		const read: HunkLine =
			kind === undefined ? { kind: "context", text: "" } : { kind, text: withoutReturn(raw).slice(1) };
		hunkFor(section, line, () => false).lines.push(read);
	}
	return fine;
};

const readLine = (section: Section | undefined, raw: string, line: number): Outcome<undefined> => {
	if (section?.kind === "update") return readUpdateLine(section, raw, line);
	if (section?.kind === "add" && raw.startsWith("+")) {
		section.content.push(raw.slice(1));
		return fine;
	}
	if (isBlank(raw)) {
		const hint = section?.kind === "add" ? "; an empty line of the new file is a + alone" : "";
		return at(line, `a blank line between sections${hint}`);
	}
	const wanted =
		section?.kind === "add" ? "a line of a new file begins with +" : "a section begins with *** Add File: …";
	return at(line, `unrecognised line ${quoted(raw)}; ${wanted}`);
};

const openSection = (kind: "add" | "delete" | "update", place: PatchPath): Section => {
	if (kind === "add") return { ...place, kind, content: [] };
	return kind === "delete" ? { ...place, kind } : { ...place, kind, hunks: [], closed: false };
};

const operationOf = (section: Section): Operation => {
	if (section.kind !== "update") return section;
	const { kind, path, line, hunks, moveTo } = section;
	return { kind, path, line, hunks, ...(moveTo === undefined ? {} : { moveTo }) };
};

/** The lines inside the envelope, with the index of the first one in the whole text. */
const envelope = (input: string): Outcome<{ readonly body: readonly string[]; readonly from: number }> => {
	const lines = input.split("\n");
	const [first, last] = [lines.findIndex((line) => !isBlank(line)), lines.findLastIndex((line) => !isBlank(line))];
	if (lines[first]?.trimEnd() !== BEGIN) return at(Math.max(first, 0) + 1, `the first line must be ${BEGIN}`);
	if (lines[last]?.trimEnd() !== END) return at(last + 1, `the last line must be ${END}`);
	const body = lines.slice(first + 1, last);
	// A text whose own first line ends in CR LF has that for its line ending: the CR is no part of any line.
	return done({ body: lines[first]?.endsWith("\r") ? body.map(withoutReturn) : body, from: first + 1 });
};

/**
 * Reads the envelope grammar (`spec/tools.md` §10.7); refuses with the line of the patch and never guesses. Whether a path
 * is used twice is not asked here: that shows once paths are resolved.
 */
export const parsePatch = (input: string): Outcome<readonly Operation[]> => {
	const found = envelope(input);
	if (!found.ok) return found;
	const sections: Section[] = [];
	for (const [index, raw] of found.value.body.entries()) {
		const line = found.value.from + index + 1;
		const header = headerOf(withoutReturn(raw));
		const section = sections.at(-1);
		if (header === undefined) {
			const read = readLine(section, raw, line);
			if (!read.ok) return read;
			continue;
		}
		const place = { path: header.path, line };
		const checked = checkPath(place);
		if (!checked.ok) return checked;
		if (header.kind === "move") {
			if (section?.kind !== "update" || section.line !== line - 1)
				return at(line, "*** Move to: belongs directly behind *** Update File:");
			section.moveTo = place;
			continue;
		}
		const complete = checkSection(section);
		if (!complete.ok) return complete;
		sections.push(openSection(header.kind, place));
	}
	const complete = checkSection(sections.at(-1));
	if (!complete.ok) return complete;
	if (sections.length === 0) return refused("the patch has no operations");
	return done(sections.map(operationOf));
};
