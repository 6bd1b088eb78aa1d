/** Every name that crosses a process or a disk boundary (DESIGN §4). Nothing else spells these. */

/** Root of the refs that carry facts about an agent: `refs/lernie/<kind>/<agent>`. */
export const MARK_ROOT = "refs/lernie/";
export const AGENT_REF_ROOT = "refs/heads/agents/";
export const CONFIG_REF_ROOT = "refs/heads/config/";

export type MarkKind = "held" | "cwd" | "owner" | "limit";

export const agentRef = (agent: string): string => `${AGENT_REF_ROOT}${agent}`;
export const configRef = (name: string): string => `${CONFIG_REF_ROOT}${name}`;
export const markRef = (kind: MarkKind, agent: string): string => `${MARK_ROOT}${kind}/${agent}`;

/** Executables of external tools are `lernie-tool-<name>`. */
export const TOOL_PREFIX = "lernie-tool-";

export const ENV = {
	workspace: "LERNIE_WORKSPACE",
	home: "LERNIE_HOME",
	script: "LERNIE_SCRIPT",
	crashAt: "LERNIE_CRASH_AT",
	now: "LERNIE_NOW",
	convRepo: "LERNIE_CONV_REPO",
	convBranch: "LERNIE_CONV_BRANCH",
	toolProgram: "LERNIE_TOOL_PROGRAM",
	toolSha256: "LERNIE_TOOL_SHA256",
	confined: "LERNIE_CONFINED",
	call: "LERNIE_CALL",
} as const;

export const TRAILER = {
	answer: "Lernie-Answer",
	call: "Lernie-Call",
	config: "Lernie-Config",
	confined: "Lernie-Confined",
	control: "Lernie-Control",
	cwd: "Lernie-Cwd",
	deposit: "Lernie-Deposit",
	digest: "Lernie-Digest",
	format: "Lernie-Format",
	limit: "Lernie-Limit",
	model: "Lernie-Model",
	restored: "Lernie-Restored",
	role: "Lernie-Role",
	rule: "Lernie-Rule",
	unrecorded: "Lernie-Unrecorded",
	verdict: "Lernie-Verdict",
} as const;

/** Root entries of an agent's tree that only the harness writes; they never lie in the agent's directory (CONTRACTS §7). */
export const HARNESS_PATHS: readonly string[] = ["messages", "goal.md", "soul.md", "name", "descriptions", "summary"];

/** Version of the on-disk format, written by the founding commit. */
export const DISK_FORMAT = 1;
