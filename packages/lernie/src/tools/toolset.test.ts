import { LernieError, parseJsonText, type ToolDefinition } from "@lernie/contract";
import { expect, test } from "vitest";
import { verifies } from "../../../../conformance/support/verifies.ts";
import { BUILTINS } from "./builtin/pool.ts";
import { shippedTools } from "./definitions.ts";
import { MULTI_TOOL } from "./multi-tool.ts";
import { composeTools, permitted, refusalOfUngranted } from "./toolset.ts";

const tool = (name: string): ToolDefinition => ({ name, input_schema: '{"type":"object","x":1}' });
const known = new Map(["bash", "read_file", "hosted"].map((name) => [name, tool(name)]));
const compose = async (
	granted: readonly string[],
	historyNames: readonly string[] = [],
	injected: readonly ToolDefinition[] = [],
) => composeTools({ injected, granted, historyNames, describe: async (name) => known.get(name) });

verifies(
	"tools-186",
	"what a role was granted comes in declared order; what nobody describes is left out",
	async () => {
		expect((await compose(["bash", "missing", "read_file"])).map(({ name }) => name)).toEqual(["bash", "read_file"]);
	},
);

verifies(["tools-187", "tools-188"], "every tool of the history is declared once, described or not", async () => {
	const tools = await compose(["bash"], ["frobnicate", "bash", "bash", "constructor", "frobnicate"]);
	expect(tools).toEqual([
		tool("bash"),
		{ name: "frobnicate", input_schema: '{"type":"object"}' },
		{ name: "constructor", input_schema: '{"type":"object"}' },
	]);
});

test("an injected tool beats a granted one of its name", async () => {
	const own = { name: "hosted", input_schema: '{"own":true}' };
	expect(await compose(["bash", "hosted"], ["hosted"], [own])).toEqual([own, tool("bash")]);
});

test("nothing granted and nothing said is nothing declared", async () => {
	expect(await compose([])).toEqual([]);
});

verifies("tools-189", "a malformed description is a fault, granted or named by the history", async () => {
	const describe = async (name: string): Promise<undefined> => {
		throw new LernieError("TOOLSET", name);
	};
	for (const part of [
		{ granted: ["x"], historyNames: [] },
		{ granted: [], historyNames: ["x"] },
	])
		await expect(composeTools({ injected: [], describe, ...part })).rejects.toMatchObject({ code: "TOOLSET" });
});

test("a role may call what it was granted or the host injects, by the exact name", () => {
	expect(permitted(["bash"], ["hosted"], "hosted")).toBe(true);
	expect(permitted(["bash"], [], "Bash")).toBe(false);
	expect(permitted([], [], "constructor")).toBe(false);
});

test("a refusal names the tool and the toolset", () => {
	const text = refusalOfUngranted("bash", "worker", ["slack_read", "message"], []);
	expect(text).toContain('"bash" is not callable by a worker');
	expect(text).toContain("The worker toolset is slack_read, message");
	expect(refusalOfUngranted("bash", "worker", [], [])).toContain("The worker toolset is empty");
});

test("every built-in is described, with a schema that accepts its keys and no others", () => {
	expect([...shippedTools.keys()].sort()).toEqual([...BUILTINS.keys(), MULTI_TOOL].sort());
	for (const { schema, description } of shippedTools.values()) {
		expect(parseJsonText(schema).ok).toBe(true);
		expect(JSON.parse(schema)).toMatchObject({ type: "object", additionalProperties: false });
		expect(description.length).toBeGreaterThan(50);
	}
});
