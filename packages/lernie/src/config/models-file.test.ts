import { join } from "node:path";
import { expect, test } from "vitest";
import { faultOf, withConfig } from "./fixture.ts";
import { findRow, hasRow, type ModelRows, readModelRows, rowText } from "./models-file.ts";

test("a command row starts at the file's directory and is told its row; one adapter for every row is told the role's", () =>
	withConfig(async (fixture) => {
		const { roots } = fixture;
		const models = async (text: string): Promise<ModelRows> => {
			fixture.write("config/models.yaml", text);
			return readModelRows(roots);
		};
		const rows = await models(
			"providers: {own: {adapter: command, command: bin/y}, other: {adapter: command, command: /x/y, row: r, env: [K]}}",
		);
		const own = { kind: "command", row: "own", program: join(roots.config, "bin/y"), provider: "own", env: [] };
		expect(findRow(rows, "own", {})).toEqual(own);
		expect(findRow(rows, "other", {})).toMatchObject({ program: "/x/y", provider: "r", env: ["K"] });
		expect(["own", "scripted", "x"].map((row) => hasRow(rows, row))).toEqual([true, true, false]);
		const every = await models("adapter: bz");
		const any = { kind: "command", row: "any", program: join(roots.config, "bz"), provider: "any", env: [] };
		expect(findRow(every, "any", {})).toEqual(any);
		expect(findRow(every, "scripted", { LERNIE_SCRIPT: "/s.yaml" })).toMatchObject({ kind: "scripted" });
		expect(hasRow(every, "any")).toBe(true);
	}));

test.each([
	["adapter: ''", "1:10: adapter: must name the adapter's executable"],
	["adapter: /x\nproviders: {}", "1:10: adapter: stands alone"],
	["providers: {a: {adapter: command}}", "1:16: providers.a.command: missing"],
	["providers: {a: {adapter: command, command: x, row: ''}}", "1:52: providers.a.row: must name"],
	["providers: {a: {adapter: command, command: x, env: [A=b]}}", "1:53: providers.a.env[0]: not a name"],
	["providers: {a: {adapter: command, command: x, args: []}}", "1:47: providers.a.args: unknown key"],
])("a mistake in models.yaml is refused with its place: %s", (text, says) =>
	withConfig(async (fixture) => {
		const file = fixture.write("config/models.yaml", text);
		const fault = await faultOf(() => readModelRows(fixture.roots));
		expect(fault.message).toContain(`${file}:${says}`);
	}),
);

test("a row is told of in words", () =>
	withConfig(async ({ write, roots }) => {
		const told = async (row: string): Promise<string> => rowText(await readModelRows(roots), row);
		expect(await told("scripted")).toBe("plays the file that LERNIE_SCRIPT names");
		expect(await told("x")).toBe("there is no such row on this machine");
		write("config/models.yaml", "providers: {a: {adapter: ai-sdk, package: p}, s: {adapter: scripted, script: /s}}");
		expect(await told("a")).toBe("the package p, not in this version yet");
		expect(await told("s")).toBe("plays /s");
		write("config/models.yaml", "adapter: /opt/bz");
		expect(await told("x")).toBe("runs /opt/bz --provider x");
	}));
