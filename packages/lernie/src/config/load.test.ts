import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type ConfigFixture, faultOf, withConfig } from "./fixture.ts";
import { loadConfig, loadWorkflow } from "./load.ts";
import { SHIPPED_SOUL } from "./shipped.ts";

const env = { LERNIE_SCRIPT: "script.yaml" };
const load = ({ repo, roots, workspace }: ConfigFixture, commit: string, more: object = {}) =>
	loadConfig(repo, commit, { role: "worker", roots, env, workspace, ...more });

test("two files of two lines load, with every default filled in", () =>
	withConfig(async (fixture) => {
		const commit = await fixture.author("default");
		const config = await load(fixture, commit);
		expect(config).toMatchObject({
			commit,
			roles: ["worker"],
			role: {
				name: "worker",
				provider: "scripted",
				model: "demo",
				tools: ["bash"],
				soul: SHIPPED_SOUL,
				maxTokens: 4096,
			},
			workflow: {
				control: { kind: "none" },
				sandbox: { mode: "auto" },
				limits: { steps: 200, minutes: 240 },
				retry: { maxAttempts: 5, baseMs: 1000, capMs: 60000, jitter: 0.2 },
				toolOutput: { headBytes: 16384, tailBytes: 16384 },
				toolEnv: [],
			},
		});
	}));

test("what is written wins, `unlimited` is undefined, a relative control starts at the config root", () =>
	withConfig(async (fixture) => {
		writeFileSync(join(fixture.roots.config, "ctl"), "");
		const commit = await fixture.author("default", {
			"workflow.yaml":
				"tool_control: {command: ctl, env: [TOKEN]}\nlimits: {steps: unlimited, minutes: 1}\nretry: {base_ms: 250, jitter: 0}\n",
			"souls/worker.md": "Be brief.",
		});
		const { workflow, role } = await load(fixture, commit);
		expect(workflow.control).toEqual({
			kind: "command",
			command: `${fixture.roots.config}/ctl`,
			mode: "once",
			timeoutSeconds: 60,
			env: ["TOKEN"],
		});
		expect(workflow.limits).toEqual({ steps: undefined, minutes: 1 });
		expect(workflow.retry).toEqual({ maxAttempts: 5, baseMs: 250, capMs: 60000, jitter: 0 });
		expect(role.soul).toBe("Be brief.");
	}));

test("instructions replace the soul file, and a model given at founding replaces the role's", () =>
	withConfig(async (fixture) => {
		const commit = await fixture.author("default", {
			"providers.yaml": "roles: {worker: {provider: nowhere, model: m, tools: [], instructions: Do it.}}",
			"souls/worker.md": "Be brief.",
		});
		const config = await load(fixture, commit, { model: { provider: "scripted", model: "a/b" } });
		expect(config.role).toMatchObject({ provider: "scripted", model: "a/b", soul: "Do it." });
		const fault = await faultOf(() => load(fixture, commit, { model: { provider: "scripted", model: "tool" } }));
		expect(fault.code).toBe("MODEL_NAME");
	}));

test("a role that is not listed is refused, naming those that are; so is a row, naming the rows", () =>
	withConfig(async (fixture) => {
		const commit = await fixture.author("default");
		const role = await faultOf(() => load(fixture, commit, { role: "critic" }));
		expect(role).toMatchObject({ code: "CONFIG" });
		expect(role.message).toBe(`${commit.slice(0, 12)}:providers.yaml: there is no role "critic"; listed are worker`);
		expect((await faultOf(() => load(fixture, commit, { role: "constructor" }))).code).toBe("CONFIG");
		fixture.write("config/models.yaml", "providers: {mine: {adapter: scripted, script: s.yaml}}");
		const row = await faultOf(() => load(fixture, commit, { model: { provider: "anthropic", model: "m" } }));
		expect(row).toMatchObject({ code: "PROVIDER_UNKNOWN", data: { rows: ["mine", "scripted"] } });
	}));

test("the scripted row without LERNIE_SCRIPT is refused, and so is a row that comes later, only when it is used", () =>
	withConfig(async (fixture) => {
		const commit = await fixture.author("default");
		expect((await faultOf(() => load(fixture, commit, { env: {} }))).message).toContain("LERNIE_SCRIPT");
		fixture.write("config/models.yaml", "providers: {fast: {adapter: ai-sdk, package: x}}");
		await load(fixture, commit);
		const fault = await faultOf(() => load(fixture, commit, { model: { provider: "fast", model: "m" } }));
		expect(fault.code).toBe("CONFIG");
		expect(fault.message).toContain("not in this version yet");
	}));

test.each([
	["2\n", "newer than this lernie"],
	["one", "must hold one whole number"],
])("version %j is refused", (version, why) =>
	withConfig(async (fixture) => {
		expect((await faultOf(() => fixture.author("default", { version }))).message).toContain(why);
	}),
);

test("a control in the reach of an agent is refused at load", () =>
	withConfig(async (fixture) => {
		const commit = await fixture.author("default", { "workflow.yaml": "tool_control: {command: /srv/tools/ctl}" });
		await load(fixture, commit);
		const fault = await faultOf(() => load(fixture, commit, { cwd: "/srv" }));
		expect(fault).toMatchObject({ code: "CONFIG", data: { key: "tool_control.command" } });
	}));

test("the workflow alone is read where no model row can be used", () =>
	withConfig(async (fixture) => {
		const commit = await fixture.author("default");
		expect((await faultOf(() => load(fixture, commit, { env: {} }))).code).toBe("CONFIG");
		expect((await loadWorkflow(fixture.repo, commit, fixture.roots)).control).toEqual({ kind: "none" });
	}));
