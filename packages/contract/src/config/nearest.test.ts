import fc from "fast-check";
import { expect, test } from "vitest";
import { editDistance, nearestKey } from "./nearest.ts";

const word = fc.string({ maxLength: 12 });

test("the distance is a metric on the tables that matter, and a swap of neighbours costs one", () => {
	expect(editDistance("", "abc")).toBe(3);
	expect(editDistance("step", "steps")).toBe(1);
	expect(editDistance("contorl", "control")).toBe(1);
	expect(editDistance("kitten", "sitting")).toBe(3);
});

test("the distance is zero only for equal words, symmetric, and bounded by the longer word", () => {
	fc.assert(
		fc.property(word, word, (left, right) => {
			const distance = editDistance(left, right);
			expect(distance === 0).toBe(left === right);
			expect(editDistance(right, left)).toBe(distance);
			expect(distance).toBeLessThanOrEqual(Math.max(left.length, right.length));
			expect(distance).toBeGreaterThanOrEqual(Math.abs(left.length - right.length));
		}),
	);
});

test.each([
	["step", ["steps", "minutes"], "steps"],
	["tool_contrl", ["tool_control", "tool_output"], "tool_control"],
	["Limits", ["limits"], "limits"],
	["budget", ["sandbox", "limits"], undefined],
	["x", ["y", "steps"], "y"],
	["anything", [], undefined],
])("%j among %j means %j", (key, known, nearest) => {
	expect(nearestKey(key, known)).toBe(nearest);
});
