import { expect, test } from "vitest";
import type { ReceivedLine } from "../types.ts";
import { createLines, type LineLimits, type LineStream } from "./lines.ts";

const textOf = ({ bytes, torn }: ReceivedLine): string => `${bytes.toString("utf8")}${torn ? "✂" : ""}`;

const read = async (lines: LineStream): Promise<readonly string[]> => {
	const found: string[] = [];
	for await (const line of lines) found.push(textOf(line));
	return found;
};

/** Writes each chunk through one buffer that is overwritten, as the reader of a pipe does. */
const linesOf = async (chunks: readonly (string | Buffer)[], limits: LineLimits = {}): Promise<readonly string[]> => {
	const lines = createLines(limits);
	const buffer = Buffer.alloc(1024);
	for (const chunk of chunks) {
		const size = buffer.fill("?").write(chunk.toString("latin1"), "latin1");
		lines.write(buffer.subarray(0, size));
	}
	lines.end();
	return read(lines);
};

const utf8 = (text: string): Buffer => Buffer.from(text);

test.each<[string, readonly (string | Buffer)[], readonly string[]]>([
	["lines end with a newline", ["a\nb\n"], ["a", "b"]],
	["a line comes in several chunks", ["a", "b", "\nc", "\n"], ["ab", "c"]],
	[
		"one carriage return before the newline is part of the line's end",
		["a\r\nb\r", "\n", "c\r\r\n"],
		["a", "b", "c\r"],
	],
	["a carriage return elsewhere is not", ["a\rb\n"], ["a\rb"]],
	["blank lines are left out", ["\n \t\n\r\na\n\n"], ["a"]],
	["a last line without a newline is torn", ["a\n", '{"type"', ":"], ["a", '{"type":✂']],
	["a torn line keeps its carriage return", ["a\r"], ["a\r✂"]],
	["nothing is no line", [], []],
	["a torn blank is no line", ["a\n  "], ["a"]],
	["a character comes in two chunks", [utf8("€\n").subarray(0, 1), utf8("€\n").subarray(1)], ["€"]],
	["a NUL is a byte like any other", ["a\0b\n"], ["a\0b"]],
])("%s", async (_, chunks, expected) => expect(await linesOf(chunks)).toEqual(expected));

test("a line that is too long is cut one byte past the limit, and the rest of it is dropped", async () => {
	const chunks = ["12345\n", "123", "456", "789", "\nshort\n1234\r\n123456\r", "\n12345", "6"];
	expect(await linesOf(chunks, { longestBytes: 5 })).toEqual(["12345", "123456", "short", "1234", "123456", "123456"]);
});

test("a line that is too long is told of before it ends", async () => {
	const lines = createLines({ longestBytes: 5 });
	lines.write(utf8("1234567"));
	expect((await lines[Symbol.asyncIterator]().next()).value).toMatchObject({ bytes: utf8("123456"), torn: false });
});

test("a line is handed on as soon as it is whole", async () => {
	const lines = createLines();
	const reader = lines[Symbol.asyncIterator]();
	const first = reader.next();
	lines.write(utf8("a\nb"));
	expect((await first).value).toMatchObject({ bytes: utf8("a") });
	const second = reader.next();
	lines.write(utf8("\n"));
	expect((await second).value).toMatchObject({ bytes: utf8("b") });
	lines.end();
	expect(await reader.next()).toEqual({ done: true, value: undefined });
});

test("a line of a mebibyte that comes byte by byte is whole", async () => {
	const lines = createLines();
	const size = 1024 * 1024;
	for (let at = 0; at < size; at += 1) lines.write(Buffer.from([0x61 + (at % 26)]));
	lines.write(utf8("\n"));
	lines.end();
	const [line = ""] = await read(lines);
	expect([line.length, line.slice(0, 26), line.slice(-1)]).toEqual([size, "abcdefghijklmnopqrstuvwxyz", "v"]);
});

test("a child whose lines are not read is made to wait, and goes on once they are", async () => {
	const lines = createLines({ queueBytes: 1000 });
	const flow: string[] = [];
	lines.attach?.({ pause: () => flow.push("pause"), resume: () => flow.push("resume") });
	lines.write(utf8("a\n"));
	expect(flow).toEqual([]);
	for (let at = 0; at < 20; at += 1) lines.write(utf8("x\n"));
	expect(new Set(flow)).toEqual(new Set(["pause"]));
	const reader = lines[Symbol.asyncIterator]();
	for (let at = 0; at < 21; at += 1) await reader.next();
	expect(flow.at(-1)).toBe("pause");
	const last = reader.next();
	await Promise.resolve();
	expect(flow.at(-1)).toBe("resume");
	lines.end();
	expect(await last).toMatchObject({ done: true });
});

test("what is discarded is never handed on, and the child does not wait for a reader", async () => {
	const lines = createLines({ queueBytes: 10 });
	const flow: string[] = [];
	lines.attach?.({ pause: () => flow.push("pause"), resume: () => flow.push("resume") });
	lines.write(utf8("a\nb\n"));
	const reader = lines[Symbol.asyncIterator]();
	await reader.next();
	lines.discard();
	lines.write(utf8("c\n"));
	expect(flow).toEqual(["pause", "resume"]);
	expect(await reader.next()).toMatchObject({ done: true });
	lines.end();
	expect(await read(lines)).toEqual([]);
});

test("discarding ends a reader that waits", async () => {
	const lines = createLines();
	const waiting = read(lines);
	lines.discard();
	expect(await waiting).toEqual([]);
});
