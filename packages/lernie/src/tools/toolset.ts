import type { ToolDefinition } from "@lernie/contract";

/** The grant gate (`spec/tools.md` §5): a role may call exactly what it was granted or what the host injects. */
export const permitted = (granted: readonly string[], injected: readonly string[], name: string): boolean =>
	granted.includes(name) || injected.includes(name);

/** What the model is told of a call outside its toolset. */
export const refusalOfUngranted = (
	name: string,
	role: string,
	granted: readonly string[],
	injected: readonly string[],
): string => {
	const toolset = [...new Set([...granted, ...injected])];
	const list = toolset.length === 0 ? "empty" : toolset.join(", ");
	return `The tool ${JSON.stringify(name)} is not callable by a ${role}; the call did not run. The ${role} toolset is ${list}.`;
};

export interface ToolsetInput {
	/** Definitions of the host's own tools, as they are. */
	readonly injected: readonly ToolDefinition[];
	/** Names the role was granted, in declared order. */
	readonly granted: readonly string[];
	/** Every tool name of the history, in order of first appearance. */
	readonly historyNames: readonly string[];
	/** A tool's definition, or undefined where nothing describes it. Rejects with `TOOLSET` where it is malformed. */
	readonly describe: (name: string) => Promise<ToolDefinition | undefined>;
}

const ANY_OBJECT = '{"type":"object"}';

/**
 * The tools of one request: injected, then granted, then whatever the history names (`spec/tools.md` §4), because
 * providers refuse a history that calls an undeclared tool. Declaring is not permission.
 */
export const composeTools = async (input: ToolsetInput): Promise<readonly ToolDefinition[]> => {
	const tools: ToolDefinition[] = [...input.injected];
	const present = new Set(tools.map((tool) => tool.name));
	for (const name of input.granted) {
		const tool = present.has(name) ? undefined : await input.describe(name);
		if (tool === undefined) continue;
		present.add(name);
		tools.push(tool);
	}
	for (const name of input.historyNames) {
		if (present.has(name)) continue;
		present.add(name);
		tools.push((await input.describe(name)) ?? { name, input_schema: ANY_OBJECT });
	}
	return tools;
};
