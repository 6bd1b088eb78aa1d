import { expect, test } from "vitest";
import { verifies } from "../support/verifies.ts";
import { citationsOf, idsInCases, readCitations, readRequirements } from "./citations.ts";

const requirements = readRequirements();
const { cited, unreadable } = await readCitations();
const known = new Set(requirements.map(({ id }) => id));

test("requirements and citations were read", () => {
	expect(requirements.length).toBeGreaterThan(0);
	expect(cited.size).toBeGreaterThan(0);
});

verifies("structure-6", "every requirement has an id of its own, a sentence and a place in the specification", () => {
	const ids = requirements.map(({ id }) => id);
	expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
	const malformed = requirements.filter(
		({ id, sentence, spec, ...rest }) =>
			!/^[a-z]+(-[A-Za-z0-9.]+)+$/.test(id) || !sentence || !spec || Object.keys(rest).join() !== "file",
	);
	expect(malformed).toEqual([]);
});

verifies("structure-6", "every requirement is cited by a test", () => {
	expect(requirements.filter(({ id }) => !cited.has(id)).map(({ id, file }) => `${file}: ${id}`)).toEqual([]);
});

verifies("structure-6", "every citation names a requirement", () => {
	const unknown = [...cited].filter(([id]) => !known.has(id)).map(([id, files]) => `${files.join(", ")}: ${id}`);
	expect(unknown).toEqual([]);
});

verifies("structure-6", "every citation can be read from the source", () => expect(unreadable).toEqual([]));

test("citations are read from literals, lists and case files", () => {
	const text = 'import { cases } from "../cases/b.ts"; verifies("core-1", n, f); verifies(["core-2", "core-3"], n, f);';
	expect(citationsOf("conformance/core/a.test.ts", text)).toEqual({
		ids: ["core-1", "core-2", "core-3"],
		fromCases: false,
		caseFiles: ["conformance/cases/b.ts"],
	});
	expect(citationsOf("conformance/core/a.test.ts", "verifies(one.id, n, f);").fromCases).toBe(true);
	expect(
		idsInCases({ cases: [{ id: "core-1", input: { id: "call_0" } }, { id: ["core-2"] }, 7], other: { id: "x" } }),
	).toEqual(["core-1", "core-2"]);
});
