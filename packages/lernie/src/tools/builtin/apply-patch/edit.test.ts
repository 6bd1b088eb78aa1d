import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { applyHunks, type Edited } from "./edit.ts";
import { createBudget } from "./match.ts";
import type { Outcome } from "./outcome.ts";
import { parsePatch } from "./parse.ts";
import {
	beforeOf,
	changesNothing,
	type EditLine,
	edits,
	hunksOf,
	renderPatch,
	renderUpdate,
} from "./render-fixture.ts";

const apply = (before: string, patch: string, budget = createBudget()): Outcome<Edited> => {
	const parsed = parsePatch(patch);
	if (!parsed.ok) throw new Error(parsed.why);
	const [operation] = parsed.value;
	if (operation?.kind !== "update") throw new Error("no update");
	return applyHunks(before, operation.hunks, budget);
};
const update = (before: string, ...body: readonly string[]): Outcome<Edited> =>
	apply(before, renderPatch(["*** Update File: f", ...body]));
const edited = (before: string, ...body: readonly string[]): Edited => {
	const outcome = update(before, ...body);
	if (!outcome.ok) throw new Error(outcome.why);
	return outcome.value;
};
const whyNot = (before: string, ...body: readonly string[]): string => {
	const outcome = update(before, ...body);
	return outcome.ok ? `applied: ${JSON.stringify(outcome.value)}` : outcome.why;
};
const textOf = (...lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

describe("the ladder", () => {
	test.each([
		["exact", "a b", "a b"],
		["ignore-trailing-whitespace", "a b \t\u00a0", "a b"],
		["ignore-trailing-whitespace", "a b", "a b  "],
		["ignore-edge-whitespace", "\t\ta b", "    a b "],
		["unicode-normalized", "\u201ca\u201d \u2014 it\u2019s\u00a0b", '"a" - it\'s b'],
		["unicode-normalized", '  "a"\u2003-\u3000b', "\u201ca\u201f \u2212 b"],
	])("%s: %j is found by %j", (rung, real, asked) => {
		const matched = rung === "exact" ? {} : { matched: real };
		expect(edited(textOf("x", real, "y"), `-${asked}`, "+new")).toEqual({
			text: textOf("x", "new", "y"),
			hunks: [{ rung, line: 2, ...matched }],
		});
	});

	test("what differs in more than that is not found", () => {
		for (const asked of ["a  b", "A b", "a b;", "\u0060a b\u0060"])
			expect(whyNot(textOf("'a b'", "a b"), `-${asked}`)).toContain("its context is not there");
	});

	test("the first rung with any match decides, wherever a looser one would match", () => {
		expect(edited(textOf(" a", "a ", "a", "\ta"), "-a", "+b").hunks).toEqual([{ rung: "exact", line: 3 }]);
		expect(edited(textOf(" a", "a ", "\ta"), "-a", "+b").hunks).toMatchObject([{ rung: RUNG[1], line: 2 }]);
	});

	test("more than one match at that rung is refused with the count, the rung and the lines", () => {
		expect(whyNot(textOf("a", "b", "a", "a"), "-a", "+b")).toBe(
			"hunk at line 3: its context is there 3 times (exact), at lines 1, 3, 4; add context or an @@ anchor",
		);
		expect(whyNot(textOf(" a", "b", "\ta"), "-a")).toContain("2 times (ignore-edge-whitespace), at lines 1, 3;");
		expect(whyNot(textOf("{", "{", "{"), " {", "-{")).toContain("2 times (exact), at lines 1, 2;");
		expect(whyNot("a\n".repeat(9), "-a")).toContain("9 times (exact), at lines 1, 2, 3, 4, …;");
	});

	test("context that was found loosely stays as the file has it", () => {
		const { text, hunks } = edited("  it\u2019s \r\nold\t\r\nend", " it's", "-old", "+new", " end");
		expect(text).toBe("  it\u2019s \r\nnew\r\nend");
		expect(hunks).toEqual([{ rung: "unicode-normalized", line: 1, matched: "  it\u2019s \nold\t\nend" }]);
	});
});

const RUNG = ["exact", "ignore-trailing-whitespace", "ignore-edge-whitespace", "unicode-normalized"];

describe("the cursor", () => {
	const twice = textOf("def one", "  return 0", "def two", "  return 0", "end");

	test("an anchor moves behind its line, so that what is above does not count", () => {
		const { text, hunks } = edited(twice, "@@ def two", "-  return 0", "+  return 2");
		expect(text).toBe(textOf("def one", "  return 0", "def two", "  return 2", "end"));
		expect(hunks).toEqual([{ rung: "exact", line: 4 }]);
	});

	test("anchors stack, each behind the one before, and are found like any line; the first such line counts", () => {
		const file = textOf("class A", "  def run", "    x", "class B", "  def run", "    x", "  def run", "    x");
		const { hunks, text } = edited(file, "@@ class B", "@@ def run", "-    x", "+    y", "     def run");
		expect(hunks).toMatchObject([{ line: 6 }]);
		expect(text.split("\n")[5]).toBe("    y");
		expect(whyNot(file, "@@ class B", "@@ class A", "-    x")).toBe(
			'hunk at line 3: the anchor "class A" is not there behind line 4',
		);
	});

	test("hunks go from top to bottom", () => {
		expect(edited(twice, "-  return 0", "+  return 1", " def two", "@@", "-  return 0", "+  return 2").text).toBe(
			textOf("def one", "  return 1", "def two", "  return 2", "end"),
		);
		expect(whyNot(twice, "-end", "@@", "-def two")).toBe(
			"hunk at line 4: its context is not there behind line 5: they are at line 3; " +
				"hunks and anchors go from top to bottom, each behind the one before",
		);
	});

	test("a line that one hunk has is not the next one's context", () => {
		expect(whyNot(textOf("a", "b", "c"), "-a", " b", "@@", " b", "-c")).toContain("they are at line 2;");
	});

	test("a miss says how far the lines are there", () => {
		expect(whyNot(twice, " def two", "   return 0", "-stop")).toContain(
			'the first 2 of them are at line 3, but then there is "end" and the patch has "stop"',
		);
		expect(whyNot(twice, " end", "-stop")).toContain("are at line 5, but then the file ends and the patch has");
		expect(whyNot(twice, "-nowhere", " end")).toContain('the first of them, "nowhere", is not there');
	});

	test("line numbers in the place of an anchor are named as the mistake", () => {
		expect(whyNot(twice, "@@ -1,3 +1,4 @@", "-end")).toContain("an anchor is the text of a line, not line numbers");
	});
});

describe("the end of the file", () => {
	test("a pinned hunk is looked for there first, at every rung, and then as usual", () => {
		const file = textOf("a", "b", "a ");
		expect(edited(file, "-a", "+c", "*** End of File")).toEqual({
			text: textOf("a", "b", "c"),
			hunks: [{ rung: "ignore-trailing-whitespace", line: 3, matched: "a " }],
		});
		expect(edited(file, "-b", "+c", "*** End of File").hunks).toEqual([{ rung: "exact", line: 2 }]);
		expect(whyNot(textOf("a", "a", "b"), "-a", "*** End of File")).toContain("2 times");
	});

	test("a pinned hunk does not reach above the cursor", () => {
		expect(whyNot(textOf("a", "b"), "-b", "@@", " b", "+c", "*** End of File")).toContain("they are at line 2");
	});

	test("a pure insertion stands behind its anchor or at the end", () => {
		const file = textOf("  a", "b");
		expect(edited(file, "@@ a", "+n", "+m")).toEqual({
			text: textOf("  a", "n", "m", "b"),
			hunks: [{ rung: "ignore-edge-whitespace", line: 2, matched: "  a" }],
		});
		expect(edited(file, "+n", "*** End of File")).toEqual({
			text: textOf("  a", "b", "n"),
			hunks: [{ rung: "exact", line: 3 }],
		});
		expect(edited(file, "@@ b", "+n").hunks).toEqual([{ rung: "exact", line: 3 }]);
		expect(whyNot(file, "@@ c", "+n", "*** End of File")).toContain('the anchor "c" is not there');
	});

	test.each([
		["a\nb", ["-b", "+c", "+d"], "a\nc\nd"],
		["a\nb", ["-b"], "a"],
		["a\nb", ["+c", "*** End of File"], "a\nb\nc"],
		["a", ["@@ a", "+b"], "a\nb"],
		["a", ["-a"], ""],
		["a\n", ["-a"], ""],
		["a\n\n", [" a", "-"], "a\n"],
		["a\nb\n", ["-b", "+c"], "a\nc\n"],
		["", ["+a", "*** End of File"], "a\n"],
		["a\r\nb", ["+c", "*** End of File"], "a\r\nb\r\nc"],
	])("whether %j ends in a newline stays so", (before, body, after) => {
		expect(edited(before, ...body).text).toBe(after);
	});
});

describe("bytes that no hunk changes", () => {
	test("line endings stay, and added lines get the one most lines have", () => {
		expect(edited("a\r\nb\nc\r\nd\r\n", " b", "-c", "+x", "+y").text).toBe("a\r\nb\nx\r\ny\r\nd\r\n");
		expect(edited("a\r\nb\nc\nd\n", " b", "+x").text).toBe("a\r\nb\nx\nc\nd\n");
		expect(edited("a\r\nb\n", "@@ a", "+x").text).toBe("a\r\nx\nb\n");
	});

	test("a patch that writes CR LF itself means the same", () => {
		const patch = renderPatch(["*** Update File: f", " a\r", "-b\r", "+c\r"]);
		for (const [before, after] of [
			["a\r\nb\r\n", "a\r\nc\r\n"],
			["a\nb\n", "a\nc\n"],
		] as const)
			for (const text of [patch, patch.replaceAll(/\r?\n/g, "\r\n")])
				expect(apply(before, text)).toMatchObject({ value: { text: after, hunks: [{ rung: "exact" }] } });
	});

	test("other line separators and a lone CR are text", () => {
		const odd = "a\rb\u2028c\u0085d";
		expect(edited(textOf(odd, "x"), ` ${odd}`, "-x").text).toBe(textOf(odd));
	});

	test("a byte-order mark stays one, whether the patch writes it or not", () => {
		const mark = "\ufeff";
		for (const [from, to] of [
			["a", "c"],
			[`${mark}a`, `${mark}c`],
			["a", `${mark}c`],
		])
			expect(edited(`${mark}a\nb\n`, `-${from}`, `+${to}`).text).toBe(`${mark}c\nb\n`);
		expect(edited(`${mark}${mark}a\nb\n`, "-b", "+c").text).toBe(`${mark}${mark}a\nc\n`);
		expect(edited(mark, "+a", "*** End of File").text).toBe(`${mark}a\n`);
	});
});

describe("work", () => {
	test("a patch that would keep the driver busy is refused, and fails no other", () => {
		const file = "a\n".repeat(20_000);
		const body = [...Array.from({ length: 10_000 }, () => " a"), "-b"];
		const patch = renderPatch(["*** Update File: f", ...body]);
		expect(apply(file, patch, { left: 1_000_000 })).toEqual({
			ok: false,
			why: "hunk at line 3: finding it takes too long in this file; use smaller hunks with anchors, or bash",
		});
		expect(apply("x\nb\n", renderPatch(["*** Update File: f", "-b"]), { left: 100 }).ok).toBe(true);
	});

	test("many hunks in a large file take a part of what is allowed", () => {
		const lines = Array.from({ length: 100_000 }, (_, at) => `line ${at}`);
		const hunks = lines.filter((_, at) => at % 1000 === 500).flatMap((line) => ["@@", `-${line}`, `+${line}!`]);
		const budget = createBudget();
		const outcome = apply(textOf(...lines), renderPatch(["*** Update File: f", ...hunks]), budget);
		expect(outcome.ok && outcome.value.text.split("!")).toHaveLength(101);
		expect(budget.left).toBeGreaterThan(createBudget().left / 2);
	}, 30_000);
});

type Newline = "\n" | "\r\n";

/** What an edit makes of a file whose lines end in `endings`, told by the edit alone. */
const expected = (edit: readonly EditLine[], endings: readonly Newline[], terminated: boolean): string => {
	const returns = endings.filter((ending) => ending === "\r\n").length;
	const dominant = returns > endings.length - returns ? "\r\n" : "\n";
	let at = 0;
	const lines = edit.flatMap(({ kind, text }) => {
		const own = endings[kind === "add" ? -1 : at++] ?? dominant;
		return kind === "remove" ? [] : [{ text, own }];
	});
	return lines.map(({ text, own }, n) => text + (n < lines.length - 1 || terminated ? own : "")).join("");
};

const file = fc.record({
	edit: edits,
	windows: fc.array(fc.boolean(), { minLength: 40, maxLength: 40 }),
	terminated: fc.boolean(),
	context: fc.nat(3),
	anchors: fc.boolean(),
});

test("a random edit, rendered as a patch, makes exactly the edited file", () => {
	let applied = 0;
	fc.assert(
		fc.property(file, ({ edit, windows, terminated, context, anchors }) => {
			const hunks = hunksOf(edit, { context, anchors });
			const before = beforeOf(edit);
			fc.pre(hunks.length > 0 && !hunks.some(changesNothing));
			// The last line of a file without a newline at its end has no ending to count.
			const ended = before.map((_, at): Newline => (windows[at] ? "\r\n" : "\n")).slice(0, terminated ? undefined : -1);
			const closed = terminated || before.length === 0 || before.at(-1) === "";
			fc.pre(closed === terminated);
			const text = before.map((line, at) => line + (ended[at] ?? "")).join("");
			const outcome = apply(text, renderPatch(renderUpdate("f", hunks)));
			expect(outcome).toMatchObject({ ok: true });
			if (!outcome.ok) return;
			expect(outcome.value.text).toBe(expected(edit, ended, terminated));
			expect(outcome.value.hunks.map(({ rung }) => rung)).toEqual(hunks.map(() => "exact"));
			applied += 1;
		}),
		{ numRuns: 1000 },
	);
	expect(applied).toBe(1000);
}, 30_000);
