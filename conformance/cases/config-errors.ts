/** One mistake in a configuration file: what is written, and what its refusal says after `<file>:`. */
export type ConfigMistake = readonly [text: string, says: string];

const LATER = "not enforced yet";
const NOT_HERE = "not in this version";

/** `workflow.yaml` after a first line `tool_control: none`, unless the text begins with another. */
export const workflow: readonly ConfigMistake[] = [
	["tool_control: [x]", "1:15: tool_control: must be `none`, or a mapping"],
	["tool_control: {builtin: yog}", `1:16: tool_control.builtin: ${LATER}`],
	["tool_control: {command: /x, mode: twice}", '1:35: tool_control.mode: must be "once" or "serve"'],
	["tool_control: {command: /x, timeout_seconds: 0}", "1:46: tool_control.timeout_seconds: "],
	["tool_control: {command: /x, timeout_seconds: 3601}", "1:46: tool_control.timeout_seconds: "],
	["tool_control: {command: ''}", "1:25: tool_control.command: "],
	["tool_control: {comand: /x}", '1:16: tool_control.comand: unknown key. did you mean "command"?'],
	["tool_control: none\ntool_control: none", "2:1: tool_control: this key occurs twice"],
	["limit: {steps: 3}", '2:1: limit: unknown key. did you mean "limits"?'],
	["limits: {step: 3}", '2:10: limits.step: unknown key. did you mean "steps"?'],
	["limits:\n  steps: 0", "3:10: limits.steps: must be a whole number above 0, or `unlimited` written out"],
	["limits: {steps: -1}", "2:17: limits.steps: "],
	["limits: {steps: 1.5}", "2:17: limits.steps: "],
	["limits: {steps: none}", "2:17: limits.steps: "],
	["limits: {minutes: 0}", "2:19: limits.minutes: must be a number above 0"],
	["limits: {tokens: 5}", `2:10: limits.tokens: ${LATER}`],
	["limits: {usd: 5}", `2:10: limits.usd: ${LATER}`],
	["limits: {children: 5}", `2:10: limits.children: ${LATER}`],
	["limits: {depth: 5}", `2:10: limits.depth: ${LATER}`],
	["sandbox: {mode: required}", `2:17: sandbox.mode: "required" is ${LATER}`],
	["sandbox: {mode: auto, network: []}", `2:23: sandbox.network: ${LATER}`],
	["sandbox: {mode: auto, read: []}", `2:23: sandbox.read: ${LATER}`],
	["sandbox: {mode: auto, write: []}", `2:23: sandbox.write: ${LATER}`],
	["retry: {max_attempts: 0}", "2:23: retry.max_attempts: "],
	["retry: {base_ms: 0}", "2:18: retry.base_ms: "],
	["retry: {jitter: 2}", "2:17: retry.jitter: "],
	["tool_output: {head_bytes: 4}", "2:14: tool_output.tail_bytes: missing"],
	["tool_output: {head_bytes: 4, tail_bytes: 4, x: 1}", "2:45: tool_output.x: unknown key"],
	["tool_output: {head_bytes: 1048577, tail_bytes: 4}", "2:27: tool_output.head_bytes: "],
	["tool_env: [A=b]", "2:12: tool_env[0]: not a name of an environment variable"],
	["tool_timeout_seconds: 0", "2:23: tool_timeout_seconds: "],
	["tool_grace_seconds: -1", "2:21: tool_grace_seconds: "],
	["events: {}", `2:1: events: ${NOT_HERE}`],
	["compaction: {}", `2:1: compaction: ${NOT_HERE}`],
	["budgets: {}", `2:1: budgets: ${NOT_HERE}`],
	["verifier: {}", `2:1: verifier: ${NOT_HERE}`],
	["notify: {}", `2:1: notify: ${NOT_HERE}`],
	["work: {}", `2:1: work: ${NOT_HERE}`],
];

const worker = (more: string): string => `roles:\n  worker: {provider: scripted, model: m, tools: [bash]${more}}`;

/** `providers.yaml`, whole. */
export const providers: readonly ConfigMistake[] = [
	["roles: {}", "worker"],
	[worker(", tool: 1"), '2:57: roles.worker.tool: unknown key. did you mean "tools"?'],
	[worker(", max_tokens: 0"), "2:69: roles.worker.max_tokens: "],
	["roles:\n  worker: {provider: scripted, model: tool, tools: []}", '2:39: roles.worker.model: "tool" cannot be'],
	["roles:\n  worker: {provider: scripted, model: '', tools: []}", "2:39: roles.worker.model: "],
	["roles:\n  worker: {provider: scripted, model: m, tools: [bash, bash]}", "2:56: roles.worker.tools[1]: named twice"],
	["roles:\n  worker: {provider: scripted, model: m, tools: [a/b]}", "2:50: roles.worker.tools[0]: not a tool's name"],
	["roles:\n  worker: {provider: scripted, model: m, tools: [frob]}", 'roles.worker.tools: there is no tool "frob"'],
	["providers: {}", "1:1: providers: belongs into models.yaml"],
];
