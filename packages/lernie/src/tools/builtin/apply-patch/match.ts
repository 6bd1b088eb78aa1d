import type { TextLines } from "./text.ts";

/** How exactly a text was found, from the strictest way to the loosest (`spec/tools.md` §10.7). */
const RUNGS = ["exact", "ignore-trailing-whitespace", "ignore-edge-whitespace", "unicode-normalized"] as const;

export type Rung = (typeof RUNGS)[number];

export type Match =
	| { readonly kind: "found"; readonly at: number; readonly rung: Rung }
	| { readonly kind: "none" }
	/** `places` are the first few of them. */
	| { readonly kind: "ambiguous"; readonly count: number; readonly places: readonly number[]; readonly rung: Rung }
	| { readonly kind: "too-much-work" };

/** Comparisons of lines that one patch may still cost; shared by all its files and counted down. */
export interface Budget {
	left: number;
}

/** About a second. */
export const createBudget = (): Budget => ({ left: 200_000_000 });

const LOOK_ALIKES: readonly (readonly [RegExp, string])[] = [
	[/[\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d]/g, "-"],
	[/[\u2018-\u201b\u2032\u2035\u00b4\u02b9\u02bb-\u02bd\uff07]/g, "'"],
	[/[\u201c-\u201f\u2033\u2036\u02ba\uff02]/g, '"'],
	[/[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, " "],
];
const BEYOND_ASCII = /[\u0080-\uffff]/;

const folded = (text: string): string => {
	if (!BEYOND_ASCII.test(text)) return text.trim();
	return LOOK_ALIKES.reduce((known, [signs, plain]) => known.replace(signs, plain), text).trim();
};

const NORMAL: Readonly<Record<Rung, (text: string) => string>> = {
	exact: (text) => text,
	"ignore-trailing-whitespace": (text) => text.trimEnd(),
	"ignore-edge-whitespace": (text) => text.trim(),
	"unicode-normalized": folded,
};

const PLACES_SHOWN = 4;
/** A line of the file that the patch does not name, and one of the patch that was not in the vocabulary. */
const STRANGER = -1;
const UNKNOWN = -2;

export interface Searcher {
	/**
	 * Where these lines stand, from the line `from` on. The first rung with any match decides, and more than one there is
	 * ambiguous. With `atEnd` every rung tries the end first.
	 */
	readonly lines: (wanted: readonly string[], from: number, atEnd: boolean) => Match;
	/** The first line from `from` on that reads like this at the strictest rung that has one. */
	readonly anchor: (wanted: string, from: number) => Match;
	/** Where most of these lines stand from their first on, and how many; undefined where the first is nowhere. */
	readonly closest: (
		wanted: readonly string[],
		from: number,
	) => { readonly at: number; readonly length: number } | undefined;
}

/**
 * Searches the lines of one file for texts out of `vocabulary`, which must hold every line that will be asked for: each
 * line of the file is then one small number a rung, so that a large file costs little memory and no text is compared twice.
 */
export const createSearcher = (
	file: Pick<TextLines, "length" | "text">,
	vocabulary: readonly string[],
	budget: Budget,
): Searcher => {
	const spellings = new Map<Rung, { readonly ids: ReadonlyMap<string, number>; readonly lines: Int32Array }>();
	const spelled = (rung: Rung) => {
		const known = spellings.get(rung);
		if (known !== undefined) return known;
		const ids = new Map<string, number>();
		for (const text of vocabulary) {
			const normal = NORMAL[rung](text);
			if (!ids.has(normal)) ids.set(normal, ids.size);
		}
		const lines = new Int32Array(file.length);
		for (let line = 0; line < lines.length; line += 1) lines[line] = ids.get(NORMAL[rung](file.text(line))) ?? STRANGER;
		const made = { ids, lines };
		spellings.set(rung, made);
		return made;
	};
	const at = (rung: Rung, texts: readonly string[]) => {
		const { ids, lines } = spelled(rung);
		return { lines, wanted: Int32Array.from(texts, (text) => ids.get(NORMAL[rung](text)) ?? UNKNOWN) };
	};
	/** How many of the wanted lines agree from `start` on. */
	const agreeing = (lines: Int32Array, wanted: Int32Array, start: number): number => {
		let length = 0;
		while (length < wanted.length && lines[start + length] === wanted[length]) length += 1;
		budget.left -= length + 1;
		return length;
	};
	/** Every line from `from` on that reads like the first wanted one, with how many agree there. */
	const tries = function* (lines: Int32Array, wanted: Int32Array, from: number) {
		const [first] = wanted;
		if (first === undefined) return;
		for (let start = from - 1; budget.left > 0; ) {
			const next = lines.indexOf(first, start + 1);
			budget.left -= (next === -1 ? lines.length : next) - start;
			if (next === -1) return;
			start = next;
			yield { start, length: agreeing(lines, wanted, start) };
		}
	};
	const scan = (rung: Rung, texts: readonly string[], from: number): { count: number; places: number[] } => {
		const { lines, wanted } = at(rung, texts);
		const places: number[] = [];
		let count = 0;
		for (const { start, length } of tries(lines, wanted, from)) {
			if (length < wanted.length) continue;
			count += 1;
			if (places.length < PLACES_SHOWN) places.push(start);
		}
		return { count, places };
	};
	const search = (texts: readonly string[], from: number, single: boolean): Match => {
		for (const rung of RUNGS) {
			const { count, places } = scan(rung, texts, from);
			if (budget.left <= 0) return { kind: "too-much-work" };
			const [first] = places;
			if (first === undefined) continue;
			return count === 1 || !single ? { kind: "found", at: first, rung } : { kind: "ambiguous", count, places, rung };
		}
		return { kind: "none" };
	};
	return {
		lines: (texts, from, atEnd) => {
			const start = file.length - texts.length;
			const rung = RUNGS.find((one) => {
				if (!atEnd || start < from) return false;
				const { lines, wanted } = at(one, texts);
				return agreeing(lines, wanted, start) === wanted.length;
			});
			return rung === undefined ? search(texts, from, true) : { kind: "found", at: start, rung };
		},
		anchor: (text, from) => search([text], from, false),
		closest: (texts, from) => {
			const { lines, wanted } = at("unicode-normalized", texts);
			let best: { at: number; length: number } | undefined;
			for (const { start, length } of tries(lines, wanted, from))
				if (length > (best?.length ?? 0)) best = { at: start, length };
			return best;
		},
	};
};
