import { expect, test } from "vitest";
import { verifies } from "../../../../conformance/support/verifies.ts";
import { captureBuffer } from "../process/collector.ts";
import { boundStream } from "./bound.ts";
import { exitHeader, renderEnvelope, timeoutHeader } from "./envelope.ts";

const PATH = "steps/a/001/tools/t1/output.json";
const bound = (text: string, headBytes: number, tailBytes: number, label: "stdout" | "stderr" = "stdout"): string => {
	const limits = { headBytes, tailBytes };
	return boundStream(captureBuffer(Buffer.from(text), limits), limits, label, PATH).toString();
};

test.each([
	["AAAA\nmiddle-middle-middle\nZZZZ\n", 5, 5, "stdout", "AAAA\n", "31 bytes / 3 lines", "ZZZZ\n"],
	["abcdefghijklmnop", 4, 4, "stderr", "abcd\n", "16 bytes / 1 lines", "mnop"],
	["abcdefgh\n", 0, 4, "stdout", "", "9 bytes / 1 lines", "fgh\n"],
	["abc", 0, 0, "stdout", "", "3 bytes / 1 lines", ""],
] as const)("%j cut to %i and %i bytes", (text, head, tail, label, before, counts, after) => {
	const marker = `[... ${label} truncated: ${counts} total; showing the first ${head} and last ${tail} bytes; full record: ${PATH} ...]\n`;
	expect(bound(text, head, tail, label)).toBe(`${before}${marker}${after}`);
});

test("a stream of exactly head and tail is untouched", () => {
	expect(bound("abcdef", 4, 2)).toBe("abcdef");
	expect(bound("abc", 4, 2)).toBe("abc");
});

test("a cut goes through a character, and the counts are of bytes", () => {
	const text = bound("éé", 1, 1);
	expect(text.startsWith("\uFFFD\n[... stdout truncated: 4 bytes / 1 lines")).toBe(true);
	expect(text.endsWith("]\n\uFFFD")).toBe(true);
});

test.each([
	[0, "built\n", "warning\n", "Exit code: 0\nbuilt\n--- stderr ---\nwarning\n"],
	[127, "", "nope\n", "Exit code: 127\n--- stderr ---\nnope\n"],
	[0, "no nl", "note", "Exit code: 0\nno nl\n--- stderr ---\nnote"],
	[3, "partial", "", "Exit code: 3\npartial"],
	[0, "", "", "Exit code: 0\n"],
])("the envelope of %i, %j, %j", (code, stdout, stderr, expected) => {
	expect(renderEnvelope(exitHeader(code), Buffer.from(stdout), Buffer.from(stderr)).toString()).toBe(expected);
});

verifies("tools-156", "the envelope passes bytes through that are no text", () => {
	const bytes = renderEnvelope(exitHeader(0), Buffer.from([0xff, 0xfe]), Buffer.from([0x80]));
	expect(bytes).toEqual(
		Buffer.concat([
			Buffer.from("Exit code: 0\n"),
			Buffer.from([0xff, 0xfe]),
			Buffer.from("\n--- stderr ---\n"),
			Buffer.from([0x80]),
		]),
	);
});

test("a time limit has a header of its own, because there is no exit code", () => {
	expect(renderEnvelope(timeoutHeader(30), Buffer.from("x\n"), Buffer.alloc(0)).toString()).toBe(
		"timed out after 30 s\nx\n",
	);
});
