/** Trailers of a commit as pairs, in order. Values are one line each. */
export type Trailers = readonly (readonly [name: string, value: string])[];

const oneLine = (value: string): string => value.replace(/[\r\n]+/g, " ").trim();

/** A commit message: subject, blank line, trailers. */
export const commitMessage = (subject: string, trailers: Trailers): string =>
	`${oneLine(subject)}\n\n${trailers.map(([name, value]) => `${name}: ${oneLine(value)}`).join("\n")}\n`;

export const subjectOf = (message: string): string => message.split("\n", 1)[0] ?? "";

/** The trailers of a message: the lines of its last paragraph that have the form `Name: value`. */
export const readTrailers = (message: string): Trailers => {
	const paragraph = message.trimEnd().split("\n\n").slice(1).at(-1) ?? "";
	return paragraph.split("\n").flatMap((line) => {
		const match = /^([A-Za-z][A-Za-z-]*): ([^\n]*)$/.exec(line);
		return match === null ? [] : [[match[1] ?? "", match[2] ?? ""] as const];
	});
};

/** Every value a trailer has in a message, in order. */
export const trailerValues = (trailers: Trailers, name: string): readonly string[] =>
	trailers.filter(([key]) => key === name).map(([, value]) => value);

export const trailerValue = (trailers: Trailers, name: string): string | undefined =>
	trailerValues(trailers, name).at(-1);
