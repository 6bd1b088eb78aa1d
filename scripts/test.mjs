/**
 * `npm test [-- <filter>]`: every check of the repository, counted in one closing line.
 * With a filter: the build and the test files whose path contains it.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const filters = process.argv.slice(2);
const tally = { passed: 0, failed: 0, skipped: 0 };

const run = (command, args) => {
	const done = spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
	return done.error === undefined ? (done.status ?? 1) : 127;
};
const runNode = (args) => run(process.execPath, args);
const bin = (path) => join(root, "node_modules", path);

const step = (name, act) => {
	const from = Date.now();
	console.log(`\n# ${name}`);
	const ok = act() === 0;
	tally[ok ? "passed" : "failed"] += 1;
	console.log(`# ${name}: ${ok ? "ok" : "FAILED"} (${((Date.now() - from) / 1000).toFixed(1)} s)`);
};

const onPath = (command) =>
	(process.env.PATH ?? "").split(delimiter).some((dir) => dir !== "" && existsSync(join(dir, command)));

/** Commands the tests start. On CI a missing one is installed; elsewhere it is only named. */
const needCommands = () => {
	const missing = ["git", "flock", "strace", "bash", "python3"].filter((command) => !onPath(command));
	if (missing.length === 0) return;
	if (process.env.CI === "true") {
		step(`install ${missing.join(", ")}`, () => run("bash", ["scripts/debian.sh", ...missing]));
	} else {
		console.log(`not on PATH: ${missing.join(", ")}. Tests that need them will fail; scripts/debian.sh installs them`);
	}
};

/** The counts of one vitest run. A file that did not load and a run that broke count as one failure each. */
const countVitest = (file, status) => {
	if (!existsSync(file)) {
		tally.failed += 1;
		return;
	}
	const report = JSON.parse(readFileSync(file, "utf8"));
	const before = tally.failed;
	tally.passed += report.numPassedTests;
	tally.failed += report.numFailedTests;
	tally.skipped += report.numPendingTests + report.numTodoTests;
	for (const result of report.testResults) {
		const hasFailedTest = result.assertionResults.some((assertion) => assertion.status === "failed");
		if (result.status === "failed" && !hasFailedTest) tally.failed += 1;
	}
	if (status !== 0 && tally.failed === before) tally.failed += 1;
};

const vitest = () => {
	const dir = mkdtempSync(join(tmpdir(), "lernie-test-"));
	try {
		const file = join(dir, "report.json");
		console.log("\n# vitest");
		const reporters = ["--reporter=dot", "--reporter=json", `--outputFile.json=${file}`];
		// Under CI vitest colours its output even into a file.
		const plain = process.stdout.isTTY ? [] : ["--no-color"];
		const status = runNode([bin("vitest/vitest.mjs"), "run", ...reporters, ...plain, ...filters]);
		countVitest(file, status);
	} finally {
		rmSync(dir, { recursive: true, force: true });
	}
};

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
	console.error(
		`test: runs on Node 22.18 or newer, this is ${process.version}. Start it as \`npm test\` after \`npm ci\``,
	);
	process.exit(1);
}
// Behaviour tests start `node` and `lernie` by name, also where this script was not started by npm.
process.env.PATH = [bin(".bin"), process.env.PATH ?? ""].join(delimiter);

needCommands();
step("build", () => runNode(["scripts/build.mjs"]));
if (filters.length === 0) {
	step("format and lint", () => runNode([bin("@biomejs/biome/bin/biome"), "check", "--error-on-warnings"]));
	step("types", () => runNode([bin("typescript/bin/tsc")]));
}
vitest();
if (filters.length === 0) step("budgets", () => runNode(["bench/check.ts"]));

if (tally.skipped > 0) console.log(`\n${tally.skipped} skipped`);
console.log(`\n${tally.passed} passed, ${tally.failed} failed`);
process.exitCode = tally.failed > 0 ? 1 : 0;
