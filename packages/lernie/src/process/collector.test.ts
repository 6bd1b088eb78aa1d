import { existsSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifies } from "../../../../conformance/support/verifies.ts";
import { captureBuffer, createCollector } from "./collector.ts";
import { run } from "./fixtures/run.ts";

let scratch: string;
beforeAll(async () => {
	scratch = await mkdtemp(join(tmpdir(), "lernie-collector-"));
});
afterAll(() => rm(scratch, { recursive: true }));

const collect = (chunks: readonly string[], memoryBytes: number, name: string, headBytes = 4, tailBytes = 3) => {
	const spillPath = join(scratch, name);
	const collector = createCollector({ headBytes, tailBytes, memoryBytes, spillPath });
	for (const chunk of chunks) collector.write(Buffer.from(chunk));
	collector.end();
	return { captured: collector.captured(), spillPath };
};

test("a stream within its memory is whole and leaves no file", () => {
	const { captured, spillPath } = collect(["ab", "cd", "efgh"], 8, "whole");
	expect(captured.whole?.toString()).toBe("abcdefgh");
	expect([captured.head.toString(), captured.tail.toString()]).toEqual(["abcd", "fgh"]);
	expect(existsSync(spillPath)).toBe(false);
});

test("a stream past its memory lies whole in the file, and its ends are the same", () => {
	const { captured, spillPath } = collect(["ab", "cd", "efghi", "j\nk"], 8, "spilled");
	expect(captured.whole).toBeUndefined();
	expect(captured.file).toBe(spillPath);
	expect(readFileSync(spillPath, "utf8")).toBe("abcdefghij\nk");
	expect([captured.head.toString(), captured.tail.toString()]).toEqual(["abcd", "j\nk".slice(-3)]);
	expect(captured).toMatchObject({ bytes: 12, lines: 2 });
});

test("head and tail never overlap: a stream within both is exactly the two", () => {
	for (const memoryBytes of [2, 100]) {
		const { captured } = collect(["abcdef"], memoryBytes, `overlap-${memoryBytes}`, 4, 5);
		expect(Buffer.concat([captured.head, captured.tail]).toString()).toBe("abcdef");
	}
});

verifies("tools-146", "a last line that is not terminated counts, in memory or not", () => {
	for (const [text, lines] of [
		["", 0],
		["one", 1],
		["one\n", 1],
		["one\ntwo", 2],
		["\n\n", 2],
	] as const) {
		expect(captureBuffer(Buffer.from(text), { headBytes: 1, tailBytes: 1 }).lines).toBe(lines);
		expect(collect([text], 1, `lines-${lines}-${text.length}`).captured.lines).toBe(lines);
		expect(collect([...text], 2, `line-chunks-${lines}-${text.length}`).captured.lines).toBe(lines);
	}
});

test("lines are counted the same, whether they are short or long", () => {
	const text = `${"\n".repeat(40)}${"x".repeat(200)}\n${"y\n".repeat(50)}${"z".repeat(33)}\nend`;
	const whole = captureBuffer(Buffer.from(text), { headBytes: 1, tailBytes: 1 });
	expect(whole.lines).toBe(text.split("\n").length);
});

test("a file that cannot be written is a fault of the stream, and the child is drained all the same", async () => {
	const collector = createCollector({
		headBytes: 1,
		tailBytes: 1,
		memoryBytes: 10,
		spillPath: join(scratch, "no/such"),
	});
	const { end } = await run({ program: "/usr/bin/head", args: ["-c", "1000000", "/dev/zero"], stdout: collector });
	expect(end).toMatchObject({ kind: "exited", code: 0 });
	expect(collector.captured()).toMatchObject({ bytes: 1_000_000, fault: { code: "ENOENT" } });
});

test("the descriptor of a spilled stream is closed", () => {
	const { spillPath } = collect(["abcdefghij"], 2, "closed");
	expect(existsSync(spillPath)).toBe(true);
	const targets = readdirSync("/proc/self/fd").flatMap((fd) => {
		try {
			return [readlinkSync(join("/proc/self/fd", fd))];
		} catch {
			return [];
		}
	});
	expect(targets).not.toContain(spillPath);
});

test("memory stays flat under a flood", async () => {
	const { end, stdout, stderr } = await run({
		program: process.execPath,
		args: [fileURLToPath(new URL("./fixtures/flood-peak.ts", import.meta.url)), "256000000", join(scratch, "flood")],
	});
	expect(stderr.toString()).toBe("");
	expect(end).toMatchObject({ kind: "exited", code: 0 });
	expect(Number(stdout.toString())).toBeLessThan(40 * 1024 * 1024);
}, 60_000);
