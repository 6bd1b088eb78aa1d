export type Ending = "\n" | "\r\n" | "";

/** A text as lines with the ending of each: only the last can be without one. A byte-order mark is no part of a line. */
export interface TextLines {
	readonly mark: string;
	readonly texts: readonly string[];
	readonly endings: readonly Ending[];
}

const MARK = "\ufeff";

export const splitText = (whole: string): TextLines => {
	const mark = whole.startsWith(MARK) ? MARK : "";
	const texts: string[] = [];
	const endings: Ending[] = [];
	let from = mark.length;
	for (let newline = whole.indexOf("\n", from); newline !== -1; newline = whole.indexOf("\n", from)) {
		const ending = newline > from && whole[newline - 1] === "\r" ? "\r\n" : "\n";
		texts.push(whole.slice(from, newline + 1 - ending.length));
		endings.push(ending);
		from = newline + 1;
	}
	if (from < whole.length) {
		texts.push(whole.slice(from));
		endings.push("");
	}
	return { mark, texts, endings };
};

/** The ending that most lines have; `\n` where no other has more. */
export const dominantEnding = ({ endings }: Pick<TextLines, "endings">): Ending => {
	const count = (wanted: Ending): number => endings.reduce((sum, ending) => sum + (ending === wanted ? 1 : 0), 0);
	return count("\r\n") > count("\n") ? "\r\n" : "\n";
};

/**
 * The text of edited lines. Whether it ends in a newline is `terminated`'s to say; a line in the middle that has no
 * ending of its own, because it was the last one, gets `ending`.
 */
export const joinText = (
	{ mark, texts, endings }: TextLines,
	{ terminated, ending }: { readonly terminated: boolean; readonly ending: Ending },
): string => {
	const parts: string[] = [mark];
	for (const [index, text] of texts.entries()) {
		parts.push(text);
		if (index < texts.length - 1 || terminated) parts.push(endings[index] || ending);
	}
	return parts.join("");
};
