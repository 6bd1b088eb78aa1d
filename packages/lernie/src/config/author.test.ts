import { expect, test } from "vitest";
import { authorConfig } from "./author.ts";
import { describedTools } from "./describe.ts";
import { effectiveConfig } from "./effective.ts";
import { bytes, faultOf, VALID, withConfig } from "./fixture.ts";
import { loadConfig } from "./load.ts";
import { frontMatter } from "./pools.ts";
import { templateFiles } from "./template.ts";

const TOOL = '{"type": "object", "properties": {"n": {"const": 9007199254740993}}}';

test("a configuration is one commit without a parent that holds the files and a snapshot of the pools", () =>
	withConfig(async ({ repo, author, write }) => {
		write("data/tools/lint.json", TOOL);
		write("data/tools/readme.txt", "no tool");
		write("data/skills/lint/SKILL.md", "---\nname: lint\ndescription: Lints --- all.\nextra: 1\n---\n# body\n---\n");
		write("data/skills/notes.md", "no skill");
		const oid = await author("default");
		const { parents, message } = await repo.commit(oid);
		expect({ parents, message: message.trim() }).toEqual({ parents: [], message: "config: init [config/default]" });
		expect(await repo.resolve("refs/heads/config/default")).toBe(oid);
		const described = await describedTools(repo, oid);
		expect([...described]).toEqual([
			[
				"lint",
				{
					name: "lint",
					description: "Lints --- all.",
					input_schema: '{"type":"object","properties":{"n":{"const":9007199254740993}}}',
				},
			],
		]);
		const entry = await repo.find(oid, "descriptions/tools/lint.json");
		expect((await repo.blob(entry?.oid ?? "")).toString()).toBe(TOOL);
	}));

test.each<[Readonly<Record<string, string>>, Readonly<Record<string, string>>, string]>([
	[{ "workflow.yaml": "tool_control: nope" }, {}, "workflow.yaml:1:15: tool_control:"],
	[
		{ "providers.yaml": "roles: {worker: {provider: p, model: m, tools: [nope]}}" },
		{},
		'roles.worker.tools: there is no tool "nope"; described are',
	],
	[
		{ "manifest.yaml": "roles: {worker: {order: [/etc]}}" },
		{},
		"manifest.yaml:1:17: roles.worker: not in this version",
	],
	[{ "descriptions/tools/x.json": "[1]" }, {}, "descriptions/tools/x.json: must be a JSON Schema"],
	[{}, { "data/tools/x.json": "{" }, "data/tools/x.json: not JSON"],
	[{}, { "data/skills/x/SKILL.md": "# x" }, "data/skills/x/SKILL.md: must begin with"],
	[{}, { "data/skills/x/SKILL.md": "---\nname: x\n---\n" }, "data/skills/x/SKILL.md:1:1: description: missing"],
	[{}, { "data/skills/x/SKILL.md": "---\nname: [\n---\n" }, "data/skills/x/SKILL.md:"],
])("nothing is made of %j with %j", (files, written, why) =>
	withConfig(async ({ repo, author, write }) => {
		for (const [path, text] of Object.entries(written)) write(path, text);
		const fault = await faultOf(() => author("default", files));
		expect(fault.code).toBe("CONFIG");
		expect(fault.message).toContain(why);
		expect(await repo.list("refs/")).toEqual([]);
		expect(repo.stats().objects).toBe(0);
	}),
);

test("a missing file, a name that exists and a name that is none are refused", () =>
	withConfig(async ({ repo, author, authorOptions }) => {
		const only = bytes({ "workflow.yaml": VALID["workflow.yaml"] ?? "" });
		expect((await faultOf(() => authorConfig(repo, "default", only, authorOptions))).message).toContain(
			"providers.yaml: missing",
		);
		await author("default");
		expect((await faultOf(() => author("default"))).message).toContain("exists already");
		for (const name of ["", "a/b", "..", "a..b", "a.lock", "-x", "a b"])
			expect((await faultOf(() => author(name))).code).toBe("ARGUMENT");
	}));

test("front matter ends at the first line that is `---` alone", () => {
	expect(frontMatter("---\na: b --- c\n---\nx\n---\n")).toBe("a: b --- c\n");
	expect(frontMatter("---\na: 1\n")).toBeUndefined();
	expect(frontMatter("x\n---\n---\n")).toBeUndefined();
});

test("the shipped template loads once a model and a control were chosen, and says what is missing until then", () =>
	withConfig(async ({ repo, roots, workspace, authorOptions }) => {
		const bare = await templateFiles({ roots });
		expect(bare.missing).toEqual(["provider", "control"]);
		const chosen = await templateFiles({
			roots,
			model: { provider: "scripted", model: "a: #b" },
			control: "/opt/my control",
		});
		expect(chosen.missing).toEqual([]);
		const oid = await authorConfig(repo, "default", chosen.files, authorOptions);
		const config = await loadConfig(repo, oid, { role: "worker", roots, env: { LERNIE_SCRIPT: "x" }, workspace });
		expect(config.role).toMatchObject({
			provider: "scripted",
			model: "a: #b",
			tools: ["bash", "read_file", "apply_patch", "cd", "message", "multi_tool"],
		});
		expect(config.workflow.control).toMatchObject({ command: "/opt/my control" });
		expect(config.workflow.limits).toEqual({ steps: 200, minutes: 240 });
	}));

test("the operator's template replaces whole files and adds others; what was chosen wins and keeps the comments", () =>
	withConfig(async ({ roots, write }) => {
		write("config/template/providers.yaml", "# ours\nroles:\n  worker: {provider: p, model: m, tools: []} # w\n");
		write("config/template/souls/worker.md", "Ours.");
		const kept = await templateFiles({ roots, control: "none" });
		expect(kept.missing).toEqual([]);
		expect(kept.files.get("souls/worker.md")?.toString()).toBe("Ours.");
		expect(kept.files.get("providers.yaml")?.toString()).toBe(
			"# ours\nroles:\n  worker: {provider: p, model: m, tools: []} # w\n",
		);
		const chosen = await templateFiles({ roots, control: "none", model: { provider: "q", model: "n" } });
		const text = chosen.files.get("providers.yaml")?.toString();
		expect(text).toContain("# ours");
		expect(text).toMatch(/provider: q, model: n, tools: \[\]/);
	}));

test("what is in effect is shown whole, and defaults are marked", () =>
	withConfig(async ({ repo, roots, author }) => {
		const oid = await author("default", {
			"workflow.yaml": "tool_control: {command: /c}\nlimits: {steps: unlimited}\n",
			"souls/worker.md": "Be brief.\nAlways.\n",
		});
		const text = await effectiveConfig(repo, oid, roots);
		expect(text).toBe(`# in effect under config commit ${oid}

version: 1 # default
roles:
  worker:
    provider: scripted # plays the file that LERNIE_SCRIPT names
    model: demo
    tools: [ bash ]
    max_tokens: 4096 # default
    instructions: | # souls/worker.md
      Be brief.
      Always.
tool_control:
  command: /c
  mode: once # default
  timeout_seconds: 60 # default
  env: [] # default
sandbox:
  mode: auto # default
limits:
  steps: unlimited
  minutes: 240 # default
retry:
  max_attempts: 5 # default
  base_ms: 1000 # default
  cap_ms: 60000 # default
  jitter: 0.2 # default
tool_output:
  head_bytes: 16384 # default
  tail_bytes: 16384 # default
tool_env: [] # default
tool_timeout_seconds: none # default
tool_grace_seconds: 2 # default
`);
	}));
