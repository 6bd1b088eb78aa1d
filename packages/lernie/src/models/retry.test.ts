import type { ErrorKind } from "@lernie/contract";
import fc from "fast-check";
import { expect, test } from "vitest";
import { retryDelay } from "./retry.ts";

const policy = { maxAttempts: 5, baseMs: 250, capMs: 60_000, jitter: 0 };
const status = (code: number): ErrorKind => ({ provider: { status: code } });

test.each<[ErrorKind, boolean]>([
	["transport", true],
	[status(429), true],
	[status(500), true],
	[status(529), true],
	[status(400), false],
	[status(404), false],
	["auth", false],
	["config", false],
	["parse_input", false],
	["usage", false],
	["interrupted", false],
	["something new" as ErrorKind, false],
	[{ provider: { status: "529" } } as unknown as ErrorKind, false],
	[{ other: 1 } as unknown as ErrorKind, false],
])("after %j another attempt: %j (case 219)", (kind, again) => {
	expect(retryDelay(policy, 1, { kind }, 0.5) !== undefined).toBe(again);
});

test.each([
	// attempt, hint, delay: cases 217 and 218 of spec/tools.md §23.
	[1, undefined, 250],
	[2, undefined, 500],
	[4, undefined, 2000],
	[5, undefined, undefined],
	[1, 0, 250],
	[1, 7, 7000],
	[1, 0.1, 250],
	[1, 600, 600_000],
	[1, 601, undefined],
])("after attempt %j with a hint of %j s: %j ms", (attempt, hint, delay) => {
	const failure = { kind: "transport" as const, ...(hint === undefined ? {} : { retryAfterSeconds: hint }) };
	expect(retryDelay(policy, attempt, failure, 0.5)).toBe(delay);
});

test("one attempt allowed is one attempt made", () => {
	expect(retryDelay({ ...policy, maxAttempts: 1 }, 1, { kind: "transport" }, 0)).toBeUndefined();
});

test("a delay stays within the jitter of its bounded base, and never under the hint", () => {
	const arbitrary = fc.record({
		policy: fc.record({
			maxAttempts: fc.constant(2000),
			baseMs: fc.double({ min: 1, max: 1e5, noNaN: true }),
			capMs: fc.double({ min: 1, max: 1e6, noNaN: true }),
			jitter: fc.double({ min: 0, max: 1, noNaN: true }),
		}),
		attempt: fc.integer({ min: 1, max: 1999 }),
		hint: fc.double({ min: 0, max: 600, noNaN: true }),
		random: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
	});
	fc.assert(
		fc.property(arbitrary, ({ policy: drawn, attempt, hint, random }) => {
			const delay = retryDelay(drawn, attempt, { kind: "transport", retryAfterSeconds: hint }, random) ?? Number.NaN;
			const bounded = Math.min(drawn.capMs, drawn.baseMs * 2 ** (attempt - 1));
			expect(delay).toBeGreaterThanOrEqual(Math.floor(Math.max(bounded * (1 - drawn.jitter), hint * 1000)));
			expect(delay).toBeLessThanOrEqual(Math.ceil(Math.max(bounded * (1 + drawn.jitter), hint * 1000)));
		}),
	);
});
