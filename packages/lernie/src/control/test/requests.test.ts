import { usableInput } from "@lernie/contract";
import { expect, test } from "vitest";
import {
	beginning,
	FIELDS,
	IDS,
	largeCall,
	notRequests,
	PLAIN,
	REQUESTS,
	textOf,
	withFurther,
	withoutField,
} from "./requests.ts";

const MODES = ["once", "serve"] as const;

test("the fixed set is calls as a drive would bring them before a control", () => {
	for (const { input } of [...REQUESTS, largeCall()]) expect(usableInput(input)).toEqual({ ok: true, input });
	expect(REQUESTS[0]).toBe(PLAIN);
	expect(new Set(REQUESTS.map(({ id }) => id)).size).toBe(REQUESTS.length);
});

test.each(MODES)("a request of mode %s loses exactly the field that is left out", (mode) => {
	const whole = JSON.parse(textOf(PLAIN, mode)) as Record<string, unknown>;
	for (const field of FIELDS) {
		const { [field]: _, ...rest } = whole;
		const left = JSON.parse(withoutField(PLAIN, mode, field)) as Record<string, unknown>;
		expect(left).toEqual(rest);
		expect(Object.keys(left)).toEqual(Object.keys(rest));
	}
	expect(JSON.parse(withFurther(PLAIN, mode))).toMatchObject({ ...whole, further: expect.anything() });
});

test.each(MODES)("whatever is asked in mode %s is one line", (mode) => {
	const calls = [...REQUESTS, ...IDS.map((id) => ({ ...PLAIN, id }))];
	for (const call of calls) expect(textOf(call, mode)).not.toContain("\n");
	for (const [, text] of notRequests(mode)) expect(text).not.toContain("\n");
	expect(Buffer.byteLength(beginning(mode))).toBeGreaterThan(3 * 64 * 1024);
});
