import { compactJson, LernieError, parseJsonText, type ToolDefinition } from "@lernie/contract";
import { parse } from "yaml";
import { SKILL_HEADS, TOOL_SCHEMAS } from "../config/describe.ts";
import type { Repo } from "../git/repo.ts";
import type { Oid } from "../git/types.ts";

const schemaPath = (tool: string): string => `${TOOL_SCHEMAS}/${tool}.json`;
const skillPath = (tool: string): string => `${SKILL_HEADS}/${tool}.md`;

const fault = (tool: string, path: string, why: string): LernieError =>
	new LernieError("TOOLSET", `tool ${JSON.stringify(tool)}: ${path}: ${why}`, { tool, path });

const readFile = async (repo: Repo, tip: Oid, tool: string, path: string): Promise<string | undefined> => {
	const entry = await repo.find(tip, path);
	if (entry === undefined) return undefined;
	if (entry.mode === "40000") throw fault(tool, path, "is a directory");
	return (await repo.blob(entry.oid)).toString("utf8");
};

const descriptionOf = (text: string, tool: string, path: string): string => {
	let value: unknown;
	try {
		value = parse(text);
	} catch (cause) {
		throw new LernieError("TOOLSET", `tool ${JSON.stringify(tool)}: ${path}: not YAML`, { tool, path }, cause);
	}
	const description: unknown =
		typeof value === "object" && value !== null ? Reflect.get(value, "description") : undefined;
	if (typeof description !== "string") throw fault(tool, path, "has no description");
	return description;
};

/**
 * How an agent's own tree describes a tool to the model, or undefined where it does not (`spec/tools.md` §4).
 * Throws `TOOLSET` naming the tool where a description is there but cannot be used.
 */
export const describeFromTree = async (repo: Repo, tip: Oid, tool: string): Promise<ToolDefinition | undefined> => {
	// A name that is no file name cannot have a description; `find` would read it as a path.
	if (tool === "" || /[/\\\0]/.test(tool)) return undefined;
	const schema = await readFile(repo, tip, tool, schemaPath(tool));
	if (schema === undefined) return undefined;
	const parsed = parseJsonText(schema);
	if (!parsed.ok) throw fault(tool, schemaPath(tool), `not JSON: ${parsed.why}`);
	const skill = await readFile(repo, tip, tool, skillPath(tool));
	const description = skill === undefined ? undefined : descriptionOf(skill, tool, skillPath(tool));
	return { name: tool, ...(description === undefined ? {} : { description }), input_schema: compactJson(schema) };
};
