import { type TestFunction, test } from "vitest";

/**
 * A test that stands for requirements of `conformance/requirements/`.
 *
 * `ids` is a string literal, an array of them, or a field of a case from `conformance/cases/`: the coverage test
 * (`conformance/structure/coverage.test.ts`) reads citations from the source and refuses what it cannot read.
 */
export const verifies = (ids: string | readonly string[], name: string, fn: TestFunction, timeout?: number): void => {
	const cited = typeof ids === "string" ? [ids] : ids;
	test(`${name} [${cited.join(", ")}]`, fn, timeout);
};
