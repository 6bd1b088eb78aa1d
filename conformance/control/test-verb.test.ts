import { readdirSync } from "node:fs";
import { expect } from "vitest";
import { controlWith, defects } from "../cases/control-defects.ts";
import { MODES, type Mode } from "../support/controls.ts";
import { createPlace, type Place, type RunOptions } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";

const POINTS: Readonly<Record<Mode, readonly string[]>> = {
	once: [
		"answers",
		"grammar",
		"exit-zero",
		"deadline",
		"repeatable",
		"unknown-field",
		"missing-field",
		"not-json",
		"large-input",
		"unread-stdin",
		"environment",
		"writes-nothing",
		"sigterm",
	],
	get serve() {
		return [...this.once, "order", "id"];
	},
};

interface Point {
	readonly id: string;
	readonly ok: boolean | null;
	readonly detail: string;
}

const testControl = async (place: Place, mode: Mode, options: RunOptions & { readonly timeout?: number } = {}) => {
	const timeout = String(options.timeout ?? 20);
	const ran = await place.lernie(
		["--json", "control", "test", "control", "--mode", mode, "--timeout", timeout],
		options,
	);
	const { points } = JSON.parse(ran.stdout) as { points: readonly Point[] };
	return { ran, points, failed: points.filter(({ ok }) => ok === false).map(({ id }) => id) };
};

for (const mode of MODES) {
	verifies("control-test-output", `mode ${mode}: a line a point, in order, and a count`, async () => {
		const place = createPlace();
		place.script("control", controlWith({}));
		const ran = await place.lernie(["control", "test", "./control", "--mode", mode]);
		expect(ran, ran.stdout).toMatchObject({ code: 0, stderr: "" });
		const lines = ran.stdout.trimEnd().split("\n");
		expect(lines.slice(0, -1).map((line) => line.split(" ").slice(0, 2).join(" "))).toEqual(
			POINTS[mode].map((id) => `ok ${id}`),
		);
		expect(lines.at(-1)).toBe(`${POINTS[mode].length} passed, 0 failed`);
		expect(lines.every((line) => line.split(" ").length > 3)).toBe(true);
	});

	verifies(
		"control-test-output",
		`mode ${mode}: with --json one document, and what failed is exit code 1`,
		async () => {
			const place = createPlace();
			place.script("control", "#!/bin/sh\necho 'not on my watch' >&2; exit 3\n");
			const { ran, points, failed } = await testControl(place, mode);
			expect(ran).toMatchObject({ code: 1, stderr: "" });
			expect(ran.stdout.trimEnd().split("\n")).toHaveLength(1);
			expect(points.map(({ id }) => id)).toEqual(POINTS[mode]);
			for (const point of points) expect(Object.keys(point)).toEqual(["id", "ok", "detail"]);
			expect(failed).toEqual(["answers"]);
			expect(points[0]?.detail).toContain("exited 3; stderr: not on my watch");
			expect(points.filter(({ ok }) => ok === null)).toHaveLength(POINTS[mode].length - 1);
			const text = await place.lernie(["control", "test", "control", "--mode", mode]);
			expect(text).toMatchObject({
				code: 1,
				stdout: expect.stringMatching(/^FAIL answers .*\n(skip \S+ .*\n)+0 passed, 1 failed\n$/),
			});
		},
	);
}

for (const { mode, one } of MODES.flatMap((mode) => defects.map((one) => ({ mode, one })))) {
	const expected = one.fails[mode];
	if (expected === undefined) continue;
	verifies(one.id, `mode ${mode}, ${one.title}: ${expected.join(", ")} fails`, async () => {
		const place = createPlace();
		place.script("control", controlWith(one));
		const timeout = expected.includes("deadline") ? 5 : 20;
		const { ran, points, failed } = await testControl(place, mode, { timeout, env: one.env ?? {} });
		expect(failed, JSON.stringify(points, undefined, 1)).toEqual(expected);
		expect(ran).toMatchObject({ code: 1, stderr: "" });
	});
}

verifies("control-test-missing", "a command that is not there is refused with exit code 3", async () => {
	const place = createPlace();
	place.write("plain", "not a program");
	for (const command of ["nowhere", place.path("nowhere"), "plain", ".", "sh"]) {
		const ran = await place.lernie(["control", "test", command]);
		expect(ran, ran.stderr).toMatchObject({ code: 3, stdout: "" });
		expect(ran.stderr).toContain(command);
	}
});

verifies("control-test-missing", "a mode and a time limit that there is not are refused", async () => {
	const place = createPlace();
	place.script("control", controlWith({}));
	for (const flags of [
		["--mode", "twice"],
		["--timeout", "0"],
		["--timeout", "3601"],
		["--timeout", "soon"],
	])
		expect(await place.lernie(["control", "test", "control", ...flags])).toMatchObject({ code: 3, stdout: "" });
});

verifies("control-test-shipped", "the shipped control keeps its contract", async () => {
	const place = createPlace();
	const shipped = new URL("../../packages/lernie/bin/lernie-control-ask.cjs", import.meta.url).pathname;
	expect(await place.lernie(["control", "test", shipped])).toMatchObject({
		code: 0,
		stdout: expect.stringMatching(/\n13 passed, 0 failed\n$/),
	});
});

verifies("control-test-clean", "it leaves no process and no file behind", async () => {
	const place = createPlace();
	place.script("control", controlWith({ start: 'process.on("SIGTERM", () => undefined);' }));
	await testControl(place, "serve");
	expect(readdirSync(place.root).sort()).toEqual(["control", "home", "person"]);
});
