import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { verifies } from "../support/verifies.ts";
import { filesBelow, ROOT, readText, repositoryFiles } from "./files.ts";

const MAX_LINES = 300;
const MAX_BYTES = 4 * 1024 * 1024;

/** Where this checkout and its person live: a file that names either works on one machine only. */
const PLACES = [ROOT, homedir()].filter((path) => path.length > 1);
/** A registry answers at many addresses; none belongs into a file. */
const RESOLVED = /"resolved": "https?:|https?:\/\/[\w.-]*(?:registry|pypi|crates)[\w.-]*\//;

const sources = filesBelow("packages", "conformance", "crash", "bench", "scripts").filter((path) =>
	/\.[cm]?[jt]s$/.test(path),
);

test("sources were read", () => expect(sources.length).toBeGreaterThan(10));

verifies("structure-4", `no source file is longer than ${MAX_LINES} lines`, () => {
	const long = sources
		.map((path) => ({ path, lines: readText(path).trimEnd().split("\n").length }))
		.filter(({ lines }) => lines > MAX_LINES);
	expect(long).toEqual([]);
});

verifies("structure-5", "no file names a registry host or a path of the machine", () => {
	const files = repositoryFiles();
	expect(files.length).toBeGreaterThan(10);
	const found = files.flatMap((path) => {
		const bytes = readFileSync(join(ROOT, path));
		if (bytes.length > MAX_BYTES) return [`${path}: larger than ${MAX_BYTES} bytes`];
		const text = bytes.toString("utf8");
		const named = PLACES.filter((place) => text.includes(`${place}/`));
		if (RESOLVED.test(text)) named.push("a registry's address");
		return named.map((word) => `${path}: ${word}`);
	});
	expect(found).toEqual([]);
});
