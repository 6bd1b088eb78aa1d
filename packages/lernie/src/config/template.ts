import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { errnoOf, LernieError, messageOf } from "@lernie/contract";
import { isMap, parseDocument, stringify } from "yaml";
import type { Roots } from "../workspace/roots.ts";
import { PROVIDERS_FILE } from "./roles.ts";
import { SHIPPED_TOOLS } from "./shipped.ts";
import { WORKFLOW_FILE } from "./workflow.ts";

export interface TemplateOptions {
	readonly model?: { readonly provider: string; readonly model: string };
	/** A command, or `none` written out. */
	readonly control?: string;
	readonly roots: Roots;
}

export interface Template {
	readonly files: ReadonlyMap<string, Buffer>;
	/** What neither the options nor the operator's template chose; such files do not load. */
	readonly missing: readonly ("provider" | "control")[];
}

type Chosen = Omit<TemplateOptions, "roots">;

const scalar = (text: string): string => stringify(text, { lineWidth: 0 }).trimEnd();

const shippedProviders = ({
	model,
}: Chosen): string => `# Which model plays each role, and which tools it may call. Agents that you start are workers.
roles:
  worker:
    provider: ${model === undefined ? "# a row of models.yaml" : scalar(model.provider)}
    model: ${model === undefined ? "# what that provider calls it" : scalar(model.model)}
    tools: [${SHIPPED_TOOLS.join(", ")}]
    # instructions: |
    #   What the role is told beside its goal. Left out, the shipped text is used.
`;

const controlText = (control: string | undefined): string => {
	if (control === undefined) return "tool_control: # none, or {command: /path/to/the/control}";
	return control === "none" ? "tool_control: none" : `tool_control:\n  command: ${scalar(control)}`;
};

const shippedWorkflow = ({
	control,
}: Chosen): string => `# What is asked before a call of a model runs. \`none\` lets every call run: nothing is held and nothing is refused.
${controlText(control)}
# When an agent is stopped. \`unlimited\` must be written out.
limits:
  steps: 200    # model calls since the newest message from a person
  minutes: 240  # wall time of one drive
`;

const text = (bytes: Buffer | undefined): string => bytes?.toString("utf8") ?? "";

/** Puts what was chosen into a file the operator brought, which otherwise stays as it is, comments and all. */
const edited = (bytes: Buffer, settings: readonly (readonly [readonly string[], unknown])[]): Buffer => {
	const document = parseDocument(text(bytes));
	// A file that cannot be read is left for the loader, which says where it is wrong.
	if (settings.length === 0 || document.errors.length > 0 || (document.contents !== null && !isMap(document.contents)))
		return bytes;
	for (const [path, value] of settings) document.setIn(path, value);
	return Buffer.from(document.toString({ lineWidth: 0 }));
};

const has = (bytes: Buffer | undefined, path: readonly string[]): boolean => {
	const document = parseDocument(text(bytes));
	if (document.errors.length > 0) return true;
	const value = isMap(document.contents) ? document.getIn(path) : undefined;
	return value !== undefined && value !== null;
};

const overlay = async (directory: string): Promise<ReadonlyMap<string, Buffer>> => {
	const files = new Map<string, Buffer>();
	try {
		for (const name of (await readdir(directory, { recursive: true })).sort()) {
			const path = join(directory, name);
			if ((await stat(path)).isFile()) files.set(name, await readFile(path));
		}
	} catch (thrown) {
		if (errnoOf(thrown) !== "ENOENT")
			throw new LernieError(
				"CONFIG",
				`${directory}: cannot be read: ${messageOf(thrown)}`,
				{ file: directory },
				thrown,
			);
	}
	return files;
};

/**
 * The files of a new configuration: the shipped two, each replaced whole by the operator's own under
 * `<config root>/template/`, whose other files are added (`spec/core.md` §6.1); then what was chosen here, which wins.
 */
export const templateFiles = async ({ roots, ...chosen }: TemplateOptions): Promise<Template> => {
	const own = await overlay(join(roots.config, "template"));
	const files = new Map([
		[PROVIDERS_FILE, Buffer.from(shippedProviders(chosen))],
		[WORKFLOW_FILE, Buffer.from(shippedWorkflow(chosen))],
		...own,
	]);
	const { model, control } = chosen;
	const [providers, workflow] = [own.get(PROVIDERS_FILE), own.get(WORKFLOW_FILE)];
	if (providers !== undefined && model !== undefined) {
		const worker = ["roles", "worker"];
		files.set(
			PROVIDERS_FILE,
			edited(providers, [
				[[...worker, "provider"], model.provider],
				[[...worker, "model"], model.model],
			]),
		);
	}
	if (workflow !== undefined && control !== undefined)
		files.set(
			WORKFLOW_FILE,
			edited(workflow, [[["tool_control"], control === "none" ? "none" : { command: control }]]),
		);
	const missing: Template["missing"][number][] = [];
	if (!has(files.get(PROVIDERS_FILE), ["roles", "worker", "provider"])) missing.push("provider");
	if (!has(files.get(WORKFLOW_FILE), ["tool_control"])) missing.push("control");
	return { files, missing };
};
