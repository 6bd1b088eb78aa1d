import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Operation, parsePatch } from "./parse.ts";
import { lineText, renderPatch } from "./render-fixture.ts";

const inside = (...lines: readonly string[]): string => renderPatch(lines);
const whyOf = (input: string): string => {
	const parsed = parsePatch(input);
	if (parsed.ok) throw new Error(`read as ${JSON.stringify(parsed.value)}`);
	return parsed.why;
};
const read = (input: string): readonly Operation[] => {
	const parsed = parsePatch(input);
	if (!parsed.ok) throw new Error(parsed.why);
	return parsed.value;
};
const hunksIn = (...body: readonly string[]) => {
	const [operation] = read(inside("*** Update File: f", ...body));
	if (operation?.kind !== "update") throw new Error("no update");
	return operation.hunks;
};

describe("what is refused, with its line", () => {
	test.each([
		["nothing", "", "line 1: the first line must be *** Begin Patch"],
		["something before it", "hi\n*** Begin Patch\n*** End Patch", "line 1: the first line must be *** Begin Patch"],
		["an indented begin", " *** Begin Patch\n*** End Patch", "line 1: the first line must be"],
		["no end", "\n*** Begin Patch\n*** Delete File: a\n\n", "line 3: the last line must be *** End Patch"],
		["something behind it", `${inside("*** Delete File: a")}\nthanks`, "line 4: the last line must be *** End Patch"],
		["a begin alone", "*** Begin Patch", "line 1: the last line must be *** End Patch"],
		["no operations", inside(), "the patch has no operations"],
		[
			"two patches",
			`${inside("*** Delete File: a")}\n${inside("*** Delete File: b")}`,
			'line 3: unrecognised line "*** End',
		],
		["a line before any section", inside("+a"), 'line 2: unrecognised line "+a"; a section begins with'],
		["a line behind a delete", inside("*** Delete File: a", "-x"), 'line 3: unrecognised line "-x"'],
		[
			"an add line without +",
			inside("*** Add File: a", "+x", "y"),
			'line 4: unrecognised line "y"; a line of a new file',
		],
		["a header without its blank", inside("*** Add File:a"), 'line 2: unrecognised line "*** Add File:a"'],
		["an unknown header", inside("*** Copy File: a"), "line 2: unrecognised line"],
		["no path", inside("*** Add File:  "), "line 2: the path is missing"],
		["a NUL in a path", inside("*** Update File: a\0b", "+x"), "line 2: the path holds a NUL character"],
		["a directory's path", inside("*** Delete File: a/"), "line 2: a/ names a directory"],
		[
			"a blank line before the first section",
			inside("", "*** Delete File: a"),
			"line 2: a blank line between sections",
		],
		["a blank line behind a delete", inside("*** Delete File: a", "\t", "*** Delete File: b"), "line 3: a blank line"],
		[
			"a blank line in an add",
			inside("*** Add File: a", "+x", "", "+y"),
			"line 4: a blank line between sections; an empty",
		],
		["a move without an update", inside("*** Move to: b"), "line 2: *** Move to: belongs directly behind"],
		["a move behind an add", inside("*** Add File: a", "*** Move to: b"), "line 3: *** Move to: belongs directly"],
		["a move behind a hunk", inside("*** Update File: a", "+x", "*** Move to: b"), "line 4: *** Move to: belongs"],
		["two moves", inside("*** Update File: a", "*** Move to: b", "*** Move to: c"), "line 4: *** Move to: belongs"],
		["an update without hunks", inside("*** Update File: a", "*** Delete File: b"), "line 2: this update has no hunks"],
		["the last one without hunks", inside("*** Update File: a", "*** Move to: b"), "line 2: this update has no hunks"],
		["only context", inside("*** Update File: a", "@@", " x"), "line 3: this hunk changes nothing"],
		["the same again", inside("*** Update File: a", " x", "-y", "+y"), "line 3: this hunk changes nothing"],
		["an @@ without lines", inside("*** Update File: a", "-x", "@@"), "line 4: this hunk changes nothing"],
		[
			"an anchor without lines",
			inside("*** Update File: a", "@@ x", "*** Delete File: b"),
			"line 3: this hunk changes",
		],
		["a blank line before an @@", inside("*** Update File: a", "", "@@", "-x"), "line 3: this hunk changes nothing"],
		["an insertion anywhere", inside("*** Update File: a", "+x"), "line 3: a hunk that only adds lines says where"],
		["a line of no kind", inside("*** Update File: a", "-x", "y"), 'line 4: unrecognised line "y"; a line of a hunk'],
		["an anchor without its blank", inside("*** Update File: a", "@@x", "-y"), 'line 3: unrecognised line "@@x"'],
		[
			"an end without a hunk",
			inside("*** Update File: a", "*** End of File"),
			"line 3: *** End of File belongs behind",
		],
		[
			"an end behind an anchor",
			inside("*** Update File: a", "@@ x", "*** End of File"),
			"line 4: *** End of File belongs",
		],
		["two ends", inside("*** Update File: a", "-x", "*** End of File", "*** End of File"), "line 5: *** End of File"],
	])("%s", (_, input, why) => expect(whyOf(input).slice(0, why.length)).toBe(why));
});

test.each(["*** Delete File:  lead", "*** Delete File: trail ", "*** Delete File: k\u00a0", "*** Add File: tab\t"])(
	"a path that would be another one trimmed is refused: %j",
	(header) => {
		const parsed = parsePatch(inside(header));
		expect(parsed).toMatchObject({ ok: false, why: expect.stringContaining("begins or ends with white space") });
	},
);

describe("what is read", () => {
	test("sections with their lines, blank lines around the envelope ignored", () => {
		const text = inside(
			"*** Add File: a b",
			"+",
			"+ x",
			"*** Delete File: c",
			"*** Update File: d",
			"*** Move to: e",
			"-y",
		);
		expect(read(`\n \n${text}  \n\n`)).toEqual([
			{ kind: "add", path: "a b", line: 4, content: ["", " x"] },
			{ kind: "delete", path: "c", line: 7 },
			{
				kind: "update",
				path: "d",
				line: 8,
				moveTo: { path: "e", line: 9 },
				hunks: [{ line: 10, anchors: [], lines: [{ kind: "remove", text: "y" }], atEnd: false }],
			},
		]);
	});

	test("anchors stack before a body and open a hunk behind one", () => {
		expect(hunksIn("@@ a", "@@", "@@   b", "-x", "@@ c", "-y", "@@", "-z")).toMatchObject([
			{ line: 3, anchors: ["a", "  b"] },
			{ line: 7, anchors: ["c"] },
			{ line: 9, anchors: [] },
		]);
	});

	test("a blank line in a body is an empty line of context", () => {
		const empty = { kind: "context", text: "" };
		const lines = [empty, { kind: "remove", text: "x" }, empty, { kind: "context", text: "  " }, empty];
		expect(hunksIn("@@ a", "", "-x", "\t", "   ", "")).toMatchObject([{ lines }]);
	});

	test("*** End of File closes a hunk, and blank lines behind it mean nothing", () => {
		expect(hunksIn("-x", "*** End of File", "", "  ", "-y", "")).toMatchObject([
			{ line: 3, atEnd: true, lines: [{ text: "x" }] },
			{ line: 7, atEnd: false, lines: [{ text: "y" }, { text: "" }] },
		]);
	});

	test("an add without lines is an empty file", () => {
		expect(read(inside("*** Add File: a"))).toMatchObject([{ content: [] }]);
	});

	test("a CR at the end of a line is no text of a hunk; a new file keeps it unless the patch itself has CR LF", () => {
		const lines = [
			"*** Begin Patch",
			"*** Add File: a",
			"+x",
			"*** Update File: b",
			"@@ q",
			" y",
			"-z",
			"*** End Patch",
		];
		const hunk = { anchors: ["q"], lines: [{ text: "y" }, { text: "z" }] };
		expect(read(lines.join("\r\n"))).toMatchObject([{ path: "a", content: ["x"] }, { hunks: [hunk] }]);
		const mixed = lines.map((line, at) => (at === 0 ? line : `${line}\r`)).join("\n");
		expect(read(mixed)).toMatchObject([{ path: "a", content: ["x\r"] }, { hunks: [hunk] }]);
	});

	test("markers in a body are text", () => {
		const content = ["*** End Patch", "@@ x", "*** Delete File: a"];
		expect(read(inside("*** Add File: a", ...content.map((line) => `+${line}`)))).toMatchObject([{ content }]);
		expect(hunksIn("-*** End of File", " *** End Patch")).toMatchObject([{ lines: [{}, {}] }]);
	});
});

const path = fc.stringMatching(/^[a-z.][a-z. /]{0,8}[a-z.]$/);
const changing = fc
	.array(fc.record({ kind: fc.constantFrom("context", "remove", "add"), text: lineText }), { maxLength: 6 })
	.map((lines) => [...lines, { kind: "remove" as const, text: "gone" }])
	// A blank line would be one more context line, and a hunk of look-alikes is refused.
	.filter((lines) => lines.filter(({ kind }) => kind === "add").every(({ text }) => text !== "gone"));
const operation = fc.oneof(
	fc.record({ kind: fc.constant("add" as const), path, content: fc.array(lineText) }),
	fc.record({ kind: fc.constant("delete" as const), path }),
	fc.record(
		{
			kind: fc.constant("update" as const),
			path,
			moveTo: path,
			hunks: fc.array(
				fc.record({
					anchors: fc.array(lineText.filter((text) => text.trim() !== "")),
					lines: changing,
					atEnd: fc.boolean(),
				}),
				{ minLength: 1, maxLength: 3 },
			),
		},
		{ requiredKeys: ["kind", "path", "hunks"] },
	),
);
type Sketch = typeof operation extends fc.Arbitrary<infer Value> ? Value : never;

const SIGNS = { context: " ", remove: "-", add: "+" };
const rendered = (one: Sketch): readonly string[] => {
	if (one.kind === "add") return [`*** Add File: ${one.path}`, ...one.content.map((line) => `+${line}`)];
	if (one.kind === "delete") return [`*** Delete File: ${one.path}`];
	const hunks = one.hunks.flatMap(({ anchors, lines, atEnd }) => [
		"@@",
		...anchors.map((anchor) => `@@ ${anchor}`),
		...lines.map(({ kind, text }) => `${SIGNS[kind]}${text}`),
		...(atEnd ? ["*** End of File"] : []),
	]);
	return [
		`*** Update File: ${one.path}`,
		...(one.moveTo === undefined ? [] : [`*** Move to: ${one.moveTo}`]),
		...hunks,
	];
};

test("what was rendered is read back as it was", () => {
	fc.assert(
		fc.property(fc.array(operation, { minLength: 1, maxLength: 5 }), (operations) => {
			const found = read(renderPatch(...operations.map(rendered)));
			const bare = JSON.parse(JSON.stringify(found), (key, value) => (key === "line" ? undefined : value));
			const wanted = operations.map((one) =>
				one.kind === "update" && one.moveTo !== undefined ? { ...one, moveTo: { path: one.moveTo } } : one,
			);
			expect(bare).toEqual(JSON.parse(JSON.stringify(wanted)));
		}),
	);
});

test("whatever the text, it is read or refused in one line", () => {
	const junk = fc.oneof(
		lineText,
		fc.constantFrom("*** Begin Patch", "*** Update File: a", "*** Move to: b", "*** End of File"),
	);
	fc.assert(
		fc.property(fc.array(junk), (lines) => {
			for (const text of [lines.join("\n"), renderPatch(lines)]) {
				const parsed = parsePatch(text);
				if (!parsed.ok) expect(parsed.why).toMatch(/^(line \d+: [^\r\n]+|the patch has no operations)$/);
			}
		}),
	);
});
