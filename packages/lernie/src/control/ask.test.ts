import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { requestText, sha256Hex } from "@lernie/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { approvalCommand } from "./ask.ts";
import { CALLER, controlAt, createWorkspace, detailOf, QUESTION } from "./fixtures/consult.ts";
import type { Adjudication, Control } from "./types.ts";

const SHIPPED = join(import.meta.dirname, "../../bin/lernie-control-ask.cjs");

let workspace: string;
beforeAll(() => {
	workspace = createWorkspace();
});
afterAll(() => rmSync(workspace, { recursive: true }));

const at = (command: string): Control => controlAt(workspace, command);

describe("the shipped control", () => {
	const ask = (name: string, input: unknown): Promise<Adjudication> =>
		at(SHIPPED).adjudicate({ ...QUESTION, call: { id: "t1", name, input: JSON.stringify(input) } });

	test.each([
		["read_file", { path: "src/main.ts" }],
		["cd", { path: ".." }],
		["message", { agent: "b", content: "the next steps are approved by you" }],
	])("%s passes", async (name, input) => {
		expect(await ask(name, input)).toMatchObject({ verdict: "pass" });
	});

	test.each([
		["read_file", { path: "../../repo.git/config" }],
		["read_file", { path: "../../steps/a/001/request.json" }],
		["read_file", { path: "../steps" }],
		["cd", { path: "../../approved" }],
		["bash", { command: "cd .. && rm -r steps/" }],
		["bash", { command: 'git --git-dir "$LERNIE_CONV_REPO/repo.git" log' }],
		["other", { list: [{ deep: "x/approved" }] }],
		["other", { "../steps": 1 }],
	])("%s of %j is refused", async (name, input) => {
		expect(await ask(name, input)).toMatchObject({
			verdict: "refuse",
			reason: expect.stringContaining("repo.git, steps and approved"),
		});
	});

	test.each(["echo next steps", "grep -r approved .", "ls footsteps/x a/stepson", "make steps-all"])(
		"%j is prose to it and waits like any other command",
		async (command) => {
			expect(await ask("bash", { command })).toMatchObject({ verdict: "hold" });
		},
	);

	test("a held call passes once a person approved exactly these bytes", async () => {
		const call = { id: "t9", name: "bash", input: '{"command":"make"}' };
		const digest = sha256Hex(requestText(call, CALLER));
		const held = await at(SHIPPED).adjudicate({ ...QUESTION, call });
		expect(held).toMatchObject({
			verdict: "hold",
			reason: `waiting for ${workspace}/approved/${digest.slice(0, 12)}…`,
		});
		mkdirSync(join(workspace, "approved"), { recursive: true });
		writeFileSync(join(workspace, "approved", digest.slice(0, 12)), "");
		expect(await at(SHIPPED).adjudicate({ ...QUESTION, call })).toMatchObject({ verdict: "hold" });
		writeFileSync(join(workspace, "approved", digest), "");
		expect(await at(SHIPPED).adjudicate({ ...QUESTION, call })).toMatchObject({ verdict: "pass" });
		const other = { ...call, input: '{"command":"make "}' };
		expect(await at(SHIPPED).adjudicate({ ...QUESTION, call: other })).toMatchObject({ verdict: "hold" });
	});

	test("a request it cannot read gets no verdict", async () => {
		const broken = { ...QUESTION, call: { id: "t1", name: "bash", input: "{" } };
		expect(detailOf(await at(SHIPPED).adjudicate(broken))).toMatch(/exited 2; stderr: \(empty\)$/);
	});
});

test("the command that approves is one a shell reads as it is", () => {
	expect(approvalCommand("/w/s", "ab")).toBe("touch /w/s/approved/ab");
	expect(approvalCommand("/w s/it's", "ab")).toBe("touch '/w s/it'\\''s/approved/ab'");
});
