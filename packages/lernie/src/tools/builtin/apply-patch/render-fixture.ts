import fc from "fast-check";

/** A line of an edit: it stays, goes or comes. */
export interface EditLine {
	readonly kind: "keep" | "remove" | "add";
	readonly text: string;
}

export interface RenderedHunk {
	readonly anchor?: string;
	readonly lines: readonly EditLine[];
	readonly atEnd: boolean;
}

const SIGNS = { keep: " ", remove: "-", add: "+" } as const;

const renderHunk = ({ anchor, lines, atEnd }: RenderedHunk): readonly string[] => [
	anchor === undefined ? "@@" : `@@ ${anchor}`,
	...lines.map(({ kind, text }) => `${SIGNS[kind]}${text}`),
	...(atEnd ? ["*** End of File"] : []),
];

export const renderUpdate = (path: string, hunks: readonly RenderedHunk[], moveTo?: string): readonly string[] => [
	`*** Update File: ${path}`,
	...(moveTo === undefined ? [] : [`*** Move to: ${moveTo}`]),
	...hunks.flatMap(renderHunk),
];

/** A patch of sections, each a list of lines. */
export const renderPatch = (...sections: readonly (readonly string[])[]): string =>
	["*** Begin Patch", ...sections.flat(), "*** End Patch"].join("\n");

const textsOf = (lines: readonly EditLine[], without: EditLine["kind"]): readonly string[] =>
	lines.filter(({ kind }) => kind !== without).map(({ text }) => text);

export const beforeOf = (lines: readonly EditLine[]): readonly string[] => textsOf(lines, "add");
const afterOf = (lines: readonly EditLine[]): readonly string[] => textsOf(lines, "remove");

const same = (a: readonly string[], b: readonly string[]): boolean =>
	a.length === b.length && a.every((text, at) => text === b[at]);

/** Whether a hunk's lines read the same before and after, which makes it one that is refused. */
export const changesNothing = ({ lines }: RenderedHunk): boolean => same(beforeOf(lines), afterOf(lines));

const occurrences = (file: readonly string[], wanted: readonly string[], from: number): number => {
	let count = 0;
	for (let at = from; at + wanted.length <= file.length; at += 1)
		if (same(file.slice(at, at + wanted.length), wanted)) count += 1;
	return count;
};

export interface RenderChoices {
	readonly context: number;
	readonly anchors: boolean;
}

/**
 * Hunks that make an edit, with as much context as it takes for each to be found in one place only; where even the rest of
 * the file does not do, pinned to the end.
 */
export const hunksOf = (edit: readonly EditLine[], { context, anchors }: RenderChoices): readonly RenderedHunk[] => {
	const file = beforeOf(edit);
	const hunks: RenderedHunk[] = [];
	let done = 0;
	for (;;) {
		const change = edit.findIndex(({ kind }, at) => at >= done && kind !== "keep");
		if (change === -1) return hunks;
		const start = Math.max(done, change - context);
		const cursor = beforeOf(edit.slice(0, done)).length;
		const at = beforeOf(edit.slice(0, start)).length;
		// An anchor is the first such line from the cursor on, so it must be this one.
		const above = at > cursor ? file[at - 1] : undefined;
		const first = above === undefined ? -1 : file.indexOf(above, cursor);
		const anchor = anchors && above?.trim() && first === at - 1 ? above : undefined;
		const from = anchor === undefined ? cursor : at;
		let end = edit.findIndex(({ kind }, index) => index > change && kind === "keep");
		if (end === -1) end = edit.length;
		end = Math.min(edit.length, end + context);
		const unique = (): boolean => {
			const wanted = beforeOf(edit.slice(start, end));
			return wanted.length === 0 ? anchor !== undefined : occurrences(file, wanted, from) === 1;
		};
		while (!unique() && end < edit.length) end += 1;
		const atEnd = !unique();
		const lines = edit.slice(start, end);
		hunks.push({ ...(anchor === undefined ? {} : { anchor }), lines, atEnd });
		done = end;
	}
};

/** Lines that look like anything a patch is made of, and some that are only alike. */
export const lineText: fc.Arbitrary<string> = fc.oneof(
	fc.constantFrom(
		"a",
		"b",
		"",
		" a",
		"a ",
		"\ta",
		"@@",
		"@@ a",
		"+",
		"-",
		"*** End Patch",
		"*** Add File: x",
		"“q”",
		'"q"',
	),
	fc.string({ maxLength: 5, unit: "grapheme" }).map((text) => text.replaceAll(/[\r\n]/g, "")),
);

export const edits: fc.Arbitrary<readonly EditLine[]> = fc.array(
	fc.record({ kind: fc.constantFrom("keep", "keep", "keep", "remove", "add"), text: lineText }),
	{ maxLength: 40 },
);
