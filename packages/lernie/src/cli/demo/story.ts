/** A small project with a bug that its test shows. */
export const PROJECT: Readonly<Record<string, string>> = {
	"sum.mjs": "export const sum = (a, b) => a - b;\n",
	"sum.test.mjs":
		'import assert from "node:assert";\nimport test from "node:test";\nimport { sum } from "./sum.mjs";\n\n' +
		'test("sum adds", () => assert.equal(sum(2, 3), 5));\n',
	"package.json": '{ "name": "sum", "type": "module", "scripts": { "test": "node --test" } }\n',
};

export const GOAL = "The test of this project fails. Find out why, mend it and run the test.";

/**
 * The scripted model of the demo (CONTRACTS §9). Its second look at the test is where the driver is killed; it then reads
 * "unknown" and, as a model should, looks again instead of assuming.
 */
export const SCRIPT = `calls:
  - say: "I look at the code first."
    tools: [{name: read_file, input: {path: sum.mjs}}]
  - say: "And at what the harness keeps about me."
    tools: [{name: bash, input: {command: "ls -R ../*/repo.git"}}]
  - expect: {tool_result: "refused by the workflow's tool control"}
    say: "That is not mine to read. Back to the project."
    tools: [{name: read_file, input: {path: sum.test.mjs}}]
  - expect: {tool_result: "unknown whether"}
    say: "I do not know whether that ran; reading again does no harm."
    tools: [{name: read_file, input: {path: sum.test.mjs}}]
  - expect: {tool_result: "sum adds"}
    say: "sum subtracts. I mend it and run the test."
    tools: [{name: bash, input: {command: "sed -i 's/a - b/a + b/' sum.mjs && node --test"}}]
  - expect: {tool_result: "^Exit code: 0"}
    say: "The sign in sum.mjs was wrong. It is mended and the test passes."
`;

/** The driver dies here: a tool has run, nothing about its outcome is on disk yet. */
export const CRASH = "tool.exited#2";
