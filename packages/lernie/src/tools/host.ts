import type { ToolCall, ToolDefinition } from "@lernie/contract";

/**
 * Tools of the program that embeds the harness (`spec/tools.md` §15); the command line has none. What `definitions` names
 * is declared and permitted; `route` answers a call of it, or undefined, which ends as an unknown tool. A rejection is a fault.
 */
export interface HostTools {
	definitions(): readonly ToolDefinition[];
	route(
		call: ToolCall,
	): Promise<{ readonly stdout: Buffer; readonly stderr: Buffer; readonly exitCode: number } | undefined>;
}
