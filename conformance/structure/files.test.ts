import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { verifies } from "../support/verifies.ts";
import { filesBelow, ROOT, readText, repositoryFiles } from "./files.ts";

const MAX_LINES = 300;
const MAX_BYTES = 4 * 1024 * 1024;

// Written in parts, so that this file does not hold what it looks for.
const HOSTS = [
	"registry.npm" + "js.org",
	"registry.yarn" + "pkg.com",
	"deb.deb" + "ian.org",
	"files.python" + "hosted.org",
];
const PLACES = ["main", "shared", ".library"].map((name) => `/wo${"rk"}/${name}`).concat("/tmp/bash_" + "jobs");
const RESOLVED = /"resolved": "https?:/;

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
		const named = [...HOSTS, ...PLACES].filter((word) => text.includes(word));
		if (path.endsWith("package-lock.json") && RESOLVED.test(text)) named.push("a resolved address");
		return named.map((word) => `${path}: ${word}`);
	});
	expect(found).toEqual([]);
});
