import { Document, isNode } from "yaml";
import type { Oid } from "../git/types.ts";
import type { Roots } from "../workspace/roots.ts";
import { committedFiles, type RecordReader } from "./files.ts";
import { CONFIG_VERSION, checkManifest, checkVersion } from "./load.ts";
import { readModelRows, rowText } from "./models-file.ts";
import { readProvidersFile, readRole, soulPath } from "./roles.ts";
import { completeWorkflow, readWorkflowFile, type Workflow } from "./workflow.ts";

/** One value in effect; `written` says that the person's own file holds it. */
interface Setting {
	readonly path: readonly string[];
	readonly value: unknown;
	readonly written: boolean;
	readonly note?: string;
}

const writtenAt = (file: unknown, path: readonly string[]): boolean => {
	let part = file;
	for (const key of path) {
		if (typeof part !== "object" || part === null || !Object.hasOwn(part, key)) return false;
		part = Reflect.get(part, key);
	}
	return part !== undefined;
};

const workflowSettings = (file: unknown, workflow: Workflow): readonly Setting[] => {
	const setting = (path: readonly string[], value: unknown): Setting => ({
		path,
		value,
		written: writtenAt(file, path),
	});
	const { control, sandbox, limits, retry, toolOutput, toolEnv, toolTimeoutSeconds, toolGraceSeconds } = workflow;
	const controlled =
		control.kind === "none"
			? [setting(["tool_control"], "none")]
			: [
					setting(["tool_control", "command"], control.command),
					setting(["tool_control", "mode"], control.mode),
					setting(["tool_control", "timeout_seconds"], control.timeoutSeconds),
					setting(["tool_control", "env"], control.env),
				];
	return [
		...controlled,
		setting(["sandbox", "mode"], sandbox.mode),
		setting(["limits", "steps"], limits.steps ?? "unlimited"),
		setting(["limits", "minutes"], limits.minutes ?? "unlimited"),
		setting(["retry", "max_attempts"], retry.maxAttempts),
		setting(["retry", "base_ms"], retry.baseMs),
		setting(["retry", "cap_ms"], retry.capMs),
		setting(["retry", "jitter"], retry.jitter),
		setting(["tool_output", "head_bytes"], toolOutput.headBytes),
		setting(["tool_output", "tail_bytes"], toolOutput.tailBytes),
		setting(["tool_env"], toolEnv),
		setting(["tool_timeout_seconds"], toolTimeoutSeconds ?? "none"),
		setting(["tool_grace_seconds"], toolGraceSeconds),
	];
};

const render = (title: string, settings: readonly Setting[]): string => {
	const document = new Document({});
	document.commentBefore = ` ${title}`;
	for (const { path, value, written, note } of settings) {
		const node = document.createNode(value, { flow: true });
		const remark = note ?? (written ? undefined : "default");
		if (remark !== undefined && isNode(node)) node.comment = ` ${remark}`;
		document.setIn(path, node);
	}
	return document.toString({ lineWidth: 0 });
};

/**
 * Everything that is in effect under a configuration commit, as YAML text; a value that no file of the commit holds is
 * marked `# default`, and a role's provider with what answers for it on this machine. Throws `CONFIG` as loading it would.
 */
export const effectiveConfig = async (repo: RecordReader, commit: Oid, roots: Roots): Promise<string> => {
	const files = committedFiles(repo, commit);
	await checkVersion(files);
	const settings: Setting[] = [
		{ path: ["version"], value: CONFIG_VERSION, written: (await files.read("version")) !== undefined },
	];
	const rows = await readModelRows(roots);
	const providers = await readProvidersFile(files);
	for (const [name, file] of Object.entries(providers.roles)) {
		const role = await readRole(files, providers, name);
		const own = file.instructions !== undefined;
		const soul = (await files.read(soulPath(name))) === undefined ? undefined : soulPath(name);
		const at = (key: string): readonly string[] => ["roles", name, key];
		settings.push(
			{ path: at("provider"), value: role.provider, written: true, note: rowText(rows, role.provider) },
			{ path: at("model"), value: role.model, written: true },
			{ path: at("tools"), value: role.tools, written: true },
			{ path: at("max_tokens"), value: role.maxTokens, written: file.max_tokens !== undefined },
			{
				path: at("instructions"),
				value: role.soul,
				written: own,
				...(own || soul === undefined ? {} : { note: soul }),
			},
		);
		if (role.temperature !== undefined)
			settings.push({ path: at("temperature"), value: role.temperature, written: true });
		if (role.reasoning !== undefined) settings.push({ path: at("reasoning"), value: role.reasoning, written: true });
	}
	const workflow = await readWorkflowFile(files);
	settings.push(...workflowSettings(workflow, completeWorkflow(workflow, roots)));
	await checkManifest(files);
	return render(`in effect under config commit ${commit}`, settings);
};

/** Whether a configuration commit says that no control is asked, which every surface repeats (DESIGN D21). */
export const isUncontrolled = async (repo: RecordReader, commit: Oid): Promise<boolean> => {
	const workflow = await readWorkflowFile(committedFiles(repo, commit)).catch(() => undefined); // The loader reports it.
	return workflow?.tool_control === "none";
};
