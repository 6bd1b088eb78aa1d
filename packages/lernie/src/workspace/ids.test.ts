import { expect, test } from "vitest";
import { checkName, mintAgentId, mintName, parentOf } from "./ids.ts";

const random = (bytes: number): Buffer => Buffer.alloc(bytes, 7);

test("an id is a second and eight random digits", () => {
	expect(mintAgentId(new Date("2026-01-02T03:04:05.678Z"), random)).toBe("20260102T030405Z-07070707");
});

test("a child's id names its parent", () => {
	expect(parentOf("20260102T030405Z-07070707")).toBeUndefined();
	expect(parentOf("20260102T030405Z-07070707-20260102T030406Z-00000000")).toBe("20260102T030405Z-07070707");
});

test("minted names are free ones", () => {
	const first = mintName(new Set(), random);
	expect(mintName(new Set([first]), random)).not.toBe(first);
	checkName(first, new Set());
});

test.each(["", ".", "..", "a b", "a/b", "a\\b", "a\0", "-x", "20260102T030405Z-x", "taken", "x".repeat(101)])(
	"%j is no name",
	(name) => {
		expect(() => checkName(name, new Set(["taken"]))).toThrow(/the name/);
	},
);
