import fc from "fast-check";
import { expect, test } from "vitest";
import { commitMessage, readTrailers, subjectOf, trailerValue, trailerValues } from "./trailers.ts";

test("trailers come back as they were written, one line each", () => {
	const word = fc.string({ minLength: 1 }).map((text) => `x${text}x`.replace(/[\r\n\u0085\u2028\u2029]/g, ""));
	fc.assert(
		fc.property(
			fc.array(fc.tuple(fc.constantFrom("Lernie-Role", "Lernie-Limit"), word), { minLength: 1 }),
			(trailers) => {
				const message = commitMessage("transcript 001: user [a]", trailers);
				expect(subjectOf(message)).toBe("transcript 001: user [a]");
				expect(readTrailers(message)).toEqual(trailers.map(([name, value]) => [name, value.trim()]));
			},
		),
	);
});

test("a value cannot forge a trailer of its own", () => {
	const message = commitMessage("s", [["Lernie-Rule", "x\nLernie-Config: forged"]]);
	expect(trailerValue(readTrailers(message), "Lernie-Config")).toBeUndefined();
});

test("the newest of several values wins", () => {
	const trailers = readTrailers(
		commitMessage("s", [
			["Lernie-Limit", "steps=1"],
			["Lernie-Limit", "steps=2"],
		]),
	);
	expect(trailerValues(trailers, "Lernie-Limit")).toEqual(["steps=1", "steps=2"]);
	expect(trailerValue(trailers, "Lernie-Limit")).toBe("steps=2");
});

test("a message without trailers has none", () => {
	expect(readTrailers("only a subject\n")).toEqual([]);
});
