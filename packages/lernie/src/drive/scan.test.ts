import { expect, test } from "vitest";
import { isDead, type Signs } from "./scan.ts";

const TIP = "a".repeat(40);
const CALL = { step: 3, end: "whole", from: "b".repeat(40) } as const;
const RESTS: Signs = { tip: TIP, state: "done", held: false, open: false, call: CALL };
const CUT: Signs = { ...RESTS, state: "pending", call: { ...CALL, end: "cut", from: TIP } };

test("an agent is dead when its call has no answer or a tool call no result", () => {
	expect(isDead(CUT)).toBe(true);
	expect(isDead({ ...CUT, call: { ...CALL, end: "failed" } })).toBe(true);
	// Came back whole, and nobody wrote it down.
	expect(isDead({ ...CUT, call: { ...CALL, from: TIP } })).toBe(true);
	expect(isDead({ ...RESTS, state: "crashed", open: true })).toBe(true);
	expect(isDead({ ...RESTS, state: "failed", open: true })).toBe(true);
});

test("an agent at rest is not, nor one between two turns or without any", () => {
	expect(isDead(RESTS)).toBe(false);
	expect(isDead({ ...RESTS, state: "pending" })).toBe(false);
	// Refused before anything was asked of the model: whoever drove it was told.
	expect(isDead({ ...RESTS, state: "failed" })).toBe(false);
	expect(isDead({ ...RESTS, state: "pending", call: { step: 0, end: "none", from: undefined } })).toBe(false);
});

test("whoever somebody accounts for is not, whatever its traces look like", () => {
	for (const state of ["running", "held", "limit", "stopped"] as const)
		expect(isDead({ ...CUT, state, open: true }), state).toBe(false);
	// The last drive of a held agent failed.
	expect(isDead({ ...CUT, state: "failed", open: true, held: true })).toBe(false);
});
