import { expect, test } from "vitest";
import { faultOf } from "../config/fixture.ts";
import type { ModelRows } from "../config/models-file.ts";
import { createAdapter } from "./adapters.ts";
import type { AdapterPlace } from "./types.ts";

const rows = (
	entries: ModelRows["rows"] extends ReadonlyMap<string, infer Row> ? Readonly<Record<string, Row>> : never,
): ModelRows => ({
	file: "/cfg/models.yaml",
	adapter: undefined,
	rows: new Map(Object.entries(entries)),
});

const placeOf = (env: AdapterPlace["env"]): AdapterPlace => ({
	env,
	workspace: "/ws",
	track: () => () => undefined,
});

const scriptOf = async (row: string, given: ModelRows, env: Readonly<Record<string, string>>): Promise<unknown> =>
	(await faultOf(() => createAdapter(row, given, placeOf(env)).check())).data.file;

test("the built-in row plays LERNIE_SCRIPT from where the process stands; one of models.yaml beats it from where that lies", async () => {
	expect(await scriptOf("scripted", rows({}), { LERNIE_SCRIPT: "no/such.yaml" })).toBe(`${process.cwd()}/no/such.yaml`);
	const own = rows({
		scripted: { adapter: "scripted", script: "s.yaml" },
		b: { adapter: "scripted", script: "/x/y.yaml" },
	});
	expect(await scriptOf("scripted", own, { LERNIE_SCRIPT: "no/such.yaml" })).toBe("/cfg/s.yaml");
	expect(await scriptOf("b", own, {})).toBe("/x/y.yaml");
});

test("a row that does not exist names those that do; an unset LERNIE_SCRIPT is no row", async () => {
	const unknown = await faultOf(() =>
		createAdapter("x", rows({ a: { adapter: "scripted", script: "s" } }), placeOf({})),
	);
	expect(unknown).toMatchObject({ code: "PROVIDER_UNKNOWN", data: { rows: ["a", "scripted"] } });
	expect((await faultOf(() => createAdapter("scripted", rows({}), placeOf({ LERNIE_SCRIPT: "" })))).code).toBe(
		"CONFIG",
	);
});
