import { expect, test } from "vitest";
import { excerpt, excerptLines, printable, table } from "./printable.ts";

test("nothing that hides or rewrites text reaches a terminal", () => {
	expect(printable("a\u001b[2Jb")).toBe("a\\u{1b}[2Jb");
	expect(printable("rm\u202e -rf\u200b\u2066")).toBe("rm\\u{202e} -rf\\u{200b}\\u{2066}");
	expect(printable("déjà 漢字 🙂")).toBe("déjà 漢字 🙂");
});

test("what is cut says how much is missing", () => {
	expect(excerpt("abcdef", 4)).toBe("abcd… (2 more)");
	expect(excerpt("abcd", 4)).toBe("abcd");
	expect(excerptLines("a\nb\nc\n", 2)).toEqual(["a", "b", "… (1 more lines)"]);
});

test("columns are aligned and lines end at their last letter", () => {
	expect(
		table([
			["A", "BB"],
			["long", ""],
		]),
	).toBe("A     BB\nlong");
});
