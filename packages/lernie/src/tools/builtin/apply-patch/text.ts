export type Ending = "\n" | "\r\n" | "";

/**
 * A text as lines, counted from 0. It keeps where each one begins and cuts it out when it is asked for: a large file costs
 * a number a line. A byte-order mark is no part of the first line.
 */
export interface TextLines {
	readonly length: number;
	readonly mark: string;
	readonly text: (line: number) => string;
	/** Only the last line can be without one. */
	readonly ending: (line: number) => Ending;
	/** The bytes of lines from one up to another, endings and all. */
	readonly slice: (from: number, to: number) => string;
	/** Whether the text ends in a newline, or holds nothing that could. */
	readonly terminated: boolean;
}

const MARK = "\ufeff";

const countNewlines = (whole: string): number => {
	let count = 0;
	for (let at = whole.indexOf("\n"); at !== -1; at = whole.indexOf("\n", at + 1)) count += 1;
	return count;
};

export const splitText = (whole: string): TextLines => {
	const mark = whole.startsWith(MARK) ? MARK : "";
	const newlines = countNewlines(whole);
	const terminated = whole.endsWith("\n") || whole.length === mark.length;
	const length = terminated ? newlines : newlines + 1;
	const starts = new Int32Array(length + 1).fill(whole.length);
	for (let line = 0, at = mark.length; line < length; line += 1) {
		starts[line] = at;
		at = whole.indexOf("\n", at) + 1;
	}
	const start = (line: number): number => starts[line] ?? whole.length;
	const ending = (line: number): Ending => {
		const end = start(line + 1);
		if (whole[end - 1] !== "\n") return "";
		return end - 2 >= start(line) && whole[end - 2] === "\r" ? "\r\n" : "\n";
	};
	return {
		length,
		mark,
		text: (line) => whole.slice(start(line), start(line + 1) - ending(line).length),
		ending,
		slice: (from, to) => whole.slice(start(from), start(to)),
		terminated,
	};
};

/** The ending that most lines have; `\n` where no other has more. */
export const dominantEnding = ({ length, ending }: TextLines): Ending => {
	let [plain, returns] = [0, 0];
	for (let line = 0; line < length; line += 1) {
		if (ending(line) === "\n") plain += 1;
		if (ending(line) === "\r\n") returns += 1;
	}
	return returns > plain ? "\r\n" : "\n";
};

interface Joiner {
	/** Adds bytes of the text that was, whose last line has this ending. */
	readonly keep: (bytes: string, ending: Ending) => void;
	readonly add: (text: string) => void;
	readonly joined: () => string;
}

/**
 * Puts an edited text together: added lines get `added` for their ending, so does the line that was the last one without
 * any, should another come behind it; and the whole ends in a newline where the text that was did.
 */
export const createJoiner = ({ mark, terminated }: TextLines, added: Ending): Joiner => {
	const parts = [mark];
	let last: Ending | undefined;
	const push = (bytes: string, ending: Ending): void => {
		if (last === "") parts.push(added);
		parts.push(bytes);
		last = ending;
	};
	return {
		keep: push,
		add: (text) => push(text + added, added),
		joined: () => {
			const whole = parts.join("");
			return terminated || last === undefined ? whole : whole.slice(0, whole.length - last.length);
		},
	};
};
