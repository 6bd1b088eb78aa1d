import { spawnSync } from "node:child_process";
import { join } from "node:path";
import ts from "typescript";
import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { filesBelow, ROOT, readText } from "./files.ts";

const LAUNCHER = "packages/lernie/bin/lernie.cjs";

const start = (code: string, ...args: string[]) =>
	spawnSync(process.execPath, ["-e", code, ...args], { cwd: ROOT, encoding: "utf8" });

/** Runs the launcher in a Node that says it is `version`. */
const launch = (version: string, ...args: string[]) => {
	const file = JSON.stringify(join(ROOT, LAUNCHER));
	const pretend = `Object.defineProperty(process.versions, "node", { value: ${JSON.stringify(version)} });`;
	return start(`${pretend} process.argv.splice(1, 0, ${file}); require(${file})`, "--", ...args);
};

verifies("structure-7", "every launcher is ES5", () => {
	const launchers = filesBelow("packages").filter(
		(path) => /\/bin\/[^/]+\.cjs$/.test(path) && !path.endsWith("/load.cjs"),
	);
	expect(launchers).toContain(LAUNCHER);
	for (const path of launchers) {
		const text = readText(path);
		// What a compiler for ES5 would rewrite is not ES5.
		expect(text).not.toMatch(/=>|`\$|\b(let|const|class|async|await)\s|\?\?|\?\.|,\s*\)|import\(/);
		const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES5, false, ts.ScriptKind.JS);
		expect((source as unknown as { parseDiagnostics: unknown[] }).parseDiagnostics).toEqual([]);
	}
});

verifies("structure-7", "an old Node is answered with one line and exit code 1", () => {
	for (const version of ["20.20.2", "22.17.1", "8.0.0"]) {
		const done = launch(version, "--version");
		expect(done.status).toBe(1);
		expect(done.stdout).toBe("");
		expect(done.stderr).toMatch(/^lernie: needs Node 22\.18 or newer, this is Node [\d.]+\. [^\n]+\n$/);
		expect(done.stderr).toContain(version);
	}
});

verifies("structure-7", "--version is answered without the bundle", () => {
	const { version } = JSON.parse(readText("packages/lernie/package.json")) as { version: string };
	const done = launch("22.18.0", "--version");
	expect(done).toMatchObject({ status: 0, stdout: `lernie ${version}\n`, stderr: "" });
});
