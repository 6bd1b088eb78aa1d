import { compactJson, LernieError, parseJsonText, strictUtf8, type ToolDefinition } from "@lernie/contract";
import * as z from "zod";
import type { Oid } from "../git/types.ts";
import { type ConfigFiles, committedFiles, type RecordReader } from "./files.ts";
import { readYaml } from "./strict-yaml.ts";

export const TOOL_SCHEMAS = "descriptions/tools";
export const SKILL_HEADS = "descriptions/skills";

/** The head of a `SKILL.md`; other keys are other programs' business (`spec/tools.md` §3.1). */
const skillHead = z.looseObject({ name: z.string().min(1), description: z.string().min(1) });

/** The description in a skill's head. Throws `CONFIG` naming the file. */
export const readSkillHead = (label: string, head: Uint8Array): string => readYaml(skillHead, label, head).description;

/** A tool's JSON Schema as compact JSON text, its own bytes otherwise. Throws `CONFIG` naming the file. */
export const readToolSchema = (label: string, bytes: Uint8Array): string => {
	const fail = (why: string): LernieError => new LernieError("CONFIG", `${label}: ${why}`, { file: label });
	const text = strictUtf8(bytes);
	if (text === undefined) throw fail("not UTF-8");
	const parsed = parseJsonText(text);
	if (!parsed.ok) throw fail(`not JSON: ${parsed.why}`);
	if (parsed.node.kind !== "object") throw fail("must be a JSON Schema in the form of an object");
	return compactJson(text);
};

/** How `files` describe a tool to a model, or undefined where they have no schema of it. Throws `CONFIG` naming the file. */
const describeTool = async (files: ConfigFiles, name: string): Promise<ToolDefinition | undefined> => {
	const [schemaPath, headPath] = [`${TOOL_SCHEMAS}/${name}.json`, `${SKILL_HEADS}/${name}.md`];
	const schema = await files.read(schemaPath);
	if (schema === undefined) return undefined;
	const head = await files.read(headPath);
	return {
		name,
		...(head === undefined ? {} : { description: readSkillHead(files.label(headPath), head) }),
		input_schema: readToolSchema(files.label(schemaPath), schema),
	};
};

/** Every tool that `files` describe, by name. Throws `CONFIG` naming a malformed file. */
export const describeAll = async (files: ConfigFiles): Promise<ReadonlyMap<string, ToolDefinition>> => {
	const described = new Map<string, ToolDefinition>();
	for (const file of await files.list(TOOL_SCHEMAS)) {
		if (!file.endsWith(".json")) continue;
		const name = file.slice(0, -".json".length);
		const tool = await describeTool(files, name);
		if (tool !== undefined) described.set(name, tool);
	}
	for (const file of await files.list(SKILL_HEADS)) {
		const head = await files.read(`${SKILL_HEADS}/${file}`);
		if (head !== undefined) readSkillHead(files.label(`${SKILL_HEADS}/${file}`), head);
	}
	return described;
};

/** The tools that a configuration commit describes; built-in tools describe themselves and need no entry here. */
export const describedTools = (repo: RecordReader, commit: Oid): Promise<ReadonlyMap<string, ToolDefinition>> =>
	describeAll(committedFiles(repo, commit));
