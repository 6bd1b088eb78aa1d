import { LernieError } from "@lernie/contract";
import { modelsSchema, providersSchema, workflowSchema } from "@lernie/contract/config";
import { expect, test } from "vitest";
import type * as z from "zod";
import { readYaml } from "./strict-yaml.ts";

const messageOf = (schema: z.ZodType<unknown>, text: string): string => {
	try {
		readYaml(schema, "f", Buffer.from(text));
	} catch (thrown) {
		if (thrown instanceof LernieError && thrown.code === "CONFIG") return thrown.message;
		throw thrown;
	}
	return "ok";
};

const none = "tool_control: none\n";

test.each([
	// What is missing or meant otherwise.
	[
		"",
		"f:1:1: tool_control: missing: every call a model makes is put in front of it. write `tool_control: {command: <path>}`, or `tool_control: none` for no control at all",
	],
	["tool_contrl: none\n", 'f:1:1: tool_contrl: unknown key. did you mean "tool_control"?'],
	["tool_control: foo", "f:1:15: tool_control: must be `none`, or a mapping with a `command`"],
	// Cases 50 and 51 of spec/tools.md §23.
	['tool_control: {command: "  "}', "f:1:25: tool_control.command: must name the control's executable, it is blank"],
	["tool_control: {command: x, tools: [bash]}", "f:1:28: tool_control.tools: unknown key"],
	["tool_control: {comand: x}", 'f:1:16: tool_control.comand: unknown key. did you mean "command"?'],
	[
		"tool_control: {command: x, timeout_seconds: 0}",
		"f:1:45: tool_control.timeout_seconds: must be more than 0, not 0",
	],
	[
		"tool_control: {command: x, timeout_seconds: 3601}",
		"f:1:45: tool_control.timeout_seconds: must be at most 3600, not 3601",
	],
	[
		"tool_control: {command: x, timeout_seconds: .inf}",
		"f:1:45: tool_control.timeout_seconds: a number was expected, not Infinity",
	],
	[
		"tool_control: {command: x, env: ['A=1']}",
		"f:1:34: tool_control.env[0]: not a name of an environment variable; write names, without values",
	],
	// What this version does not do.
	["tool_control: {command: x, mode: twice}", 'f:1:34: tool_control.mode: must be "once" or "serve", not "twice"'],
	[
		"tool_control: {builtin: yog}",
		"f:1:16: tool_control.builtin: not enforced yet: write `command: <path>`, or `tool_control: none`",
	],
	[`${none}events: {}\n`, "f:2:1: events: not in this version"],
	[`${none}compaction: {}\n`, "f:2:1: compaction: not in this version"],
	[`${none}budgets: {}\n`, "f:2:1: budgets: not in this version: `limits` bounds a run"],
	[`${none}verifier: {}\n`, "f:2:1: verifier: not in this version"],
	[`${none}tool_timeout_seconds: 0\n`, "f:2:23: tool_timeout_seconds: must be more than 0, not 0"],
	[`${none}tool_grace_seconds: 5000000\n`, "f:2:21: tool_grace_seconds: must be at most 2000000, not 5000000"],
	[`${none}limits: {usd: 5}\n`, "f:2:10: limits.usd: not enforced yet"],
	[`${none}sandbox: {mode: required}\n`, 'f:2:17: sandbox.mode: "required" is not enforced yet'],
	[`${none}sandbox: {mode: auto, network: [x]}\n`, "f:2:23: sandbox.network: not enforced yet"],
	// Numbers.
	[`${none}limits: {step: 3}\n`, 'f:2:10: limits.step: unknown key. did you mean "steps"?'],
	[`${none}limits: {steps: 0}\n`, "f:2:17: limits.steps: must be a whole number above 0, or `unlimited` written out"],
	[`${none}limits: {minutes: none}\n`, "f:2:19: limits.minutes: must be a number above 0, or `unlimited` written out"],
	[`${none}retry: {max_attempts: 0}\n`, "f:2:23: retry.max_attempts: must be more than 0, not 0"],
	[`${none}retry: {jitter: 1.5}\n`, "f:2:17: retry.jitter: must be at most 1, not 1.5"],
	[`${none}retry:\n`, "f:2:1: retry: a mapping was expected, not nothing"],
	// Case 148.
	[`${none}tool_output: {head_bytes: 4}\n`, "f:2:14: tool_output.tail_bytes: missing"],
	[`${none}tool_output: {head_bytes: 4, tail_bytes: 4, x: 1}\n`, "f:2:45: tool_output.x: unknown key"],
	[
		`${none}tool_output: {head_bytes: 4, tail_bytes: -1}\n`,
		"f:2:42: tool_output.tail_bytes: must be at least 0, not -1",
	],
	[
		`${none}tool_output: {head_bytes: 4, tail_bytes: 1048577}\n`,
		"f:2:42: tool_output.tail_bytes: must be at most 1048576, not 1048577",
	],
	// The text itself.
	[`${none}tool_control: none\n`, "f:2:1: tool_control: this key occurs twice"],
	["tool_control: {command: x, command: y}", "f:1:28: tool_control.command: this key occurs twice"],
	[`${none}---\na: 1\n`, "f:2:1: a second document begins here; one is read"],
	[`${none}__proto__: 1\n`, "f:2:1: __proto__: unknown key"],
	[`${none}? [a]\n: b\n`, "f:2:3: a key must be a plain text"],
	["tool_control: !x none", "f:1:15: Unresolved tag: !x"],
	["tool_control: *x", 'f:1:15: there is no anchor "&x" before this'],
	["- none", "f:1:1: a mapping was expected, not a list"],
	// What is fine.
	[none, "ok"],
	[
		`${none}sandbox: {mode: off}\nlimits: {steps: unlimited, minutes: .5}\nretry: {max_attempts: 1, base_ms: 1, cap_ms: 1, jitter: 0}\ntool_output: {head_bytes: 0, tail_bytes: 0}\ntool_env: [A_1]\ntool_timeout_seconds: 0.5\ntool_grace_seconds: 5\n`,
		"ok",
	],
	["tool_control: {command: x, mode: once, timeout_seconds: 0.5, env: [A]}", "ok"],
	["tool_control: {command: x, mode: serve}", "ok"],
])("workflow.yaml %j: %s", (text, message) => {
	expect(messageOf(workflowSchema, text)).toBe(message);
});

const worker = (rest: string): string => `roles: {worker: {provider: p, ${rest}}}`;

test.each([
	["", "f:1:1: roles: missing"],
	[
		"providers: {}\nroles: {}",
		"f:1:1: providers: belongs into models.yaml in the config root, which is machine-local; here only `roles`",
	],
	[
		"roles: {}\nmodels: {}",
		"f:2:1: models: belongs into models.yaml in the config root, which is machine-local; here only `roles`",
	],
	["roles: {a b: {}}", "f:1:9: roles.a b: not a role's name: 1 to 64 letters, digits, `.`, `_` or `-`"],
	[worker("model: m"), "f:1:17: roles.worker.tools: missing"],
	[worker("modle: m, tools: []"), 'f:1:31: roles.worker.modle: unknown key. did you mean "model"?'],
	[
		worker("model: tool, tools: []"),
		'f:1:38: roles.worker.model: "tool" cannot be a model\'s name: it names tool entries in a transcript',
	],
	[worker("model: '', tools: []"), "f:1:38: roles.worker.model: must name a model, it is blank"],
	[worker("model: 4, tools: []"), "f:1:38: roles.worker.model: a text was expected, not 4"],
	[worker("model: m, tools: [a, b, a]"), "f:1:55: roles.worker.tools[2]: named twice"],
	...["a/b", "..", "", "a\\\\b", "a\\0b"].map((name) => [
		worker(`model: m, tools: ["${name}"]`),
		"f:1:49: roles.worker.tools[0]: not a tool's name: it may not be empty, `.` or `..`, nor hold `/`, `\\` or control characters",
	]),
	[worker("model: m, tools: [], max_tokens: 0"), "f:1:64: roles.worker.max_tokens: must be more than 0, not 0"],
	[
		worker(
			"model: m, tools: [bash, lint.v2], instructions: x, max_tokens: 9, temperature: 0, reasoning: {effort: high}",
		),
		"ok",
	],
])("providers.yaml %j: %s", (text, message) => {
	expect(messageOf(providersSchema, text ?? "")).toBe(message);
});

test.each([
	["", "ok"],
	["# nothing\n", "ok"],
	["adapter: /x/bz", "ok"],
	[
		"adapter: x\nproviders: {a: {adapter: scripted, script: s}}",
		"f:1:10: adapter: stands alone: write the adapter of each row inside `providers`, or leave `providers` out",
	],
	["providers: {a: {adapter: scripted}}", "f:1:16: providers.a.script: missing"],
	[
		"providers: {a: {adapter: foo}}",
		'f:1:26: providers.a.adapter: must be a mapping whose `adapter` is "scripted", "command" or "ai-sdk"',
	],
	["models: {}", "f:1:1: models: unknown key"],
])("models.yaml %j: %s", (text, message) => {
	expect(messageOf(modelsSchema, text)).toBe(message);
});

test("every error of a file is in the data, the place of the first one beside them", () => {
	try {
		readYaml(workflowSchema, "abc:workflow.yaml", Buffer.from("limits: {steps: 0}\nretri: 1\n"));
		expect.unreachable();
	} catch (thrown) {
		if (!(thrown instanceof LernieError)) throw thrown;
		expect(thrown.data).toMatchObject({ file: "abc:workflow.yaml", line: 1, col: 17, key: "limits.steps" });
		expect(thrown.data.errors).toMatchObject([
			{ key: "limits.steps" },
			{ key: "retri", line: 2, col: 1 },
			{ key: "tool_control" },
		]);
	}
});

test("bytes that are not UTF-8 and aliases that multiply are refused", () => {
	expect(() => readYaml(workflowSchema, "f", Buffer.from([0xff]))).toThrow("f:1:1: not UTF-8");
	const bomb = [
		"a: &a [x,x,x,x,x,x,x,x,x]",
		..."bcdef".split("").map((name, at) => `${name}: &${name} [${`*${"abcdef"[at]},`.repeat(9)}]`),
	];
	expect(messageOf(workflowSchema, bomb.join("\n"))).toContain("Excessive alias count");
});
