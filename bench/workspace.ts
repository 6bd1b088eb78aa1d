import { randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { RunEvent } from "@lernie/contract";
import { authorConfig } from "../packages/lernie/src/config/author.ts";
import { drive } from "../packages/lernie/src/drive/drive.ts";
import { found } from "../packages/lernie/src/drive/found.ts";
import type { DriveContext } from "../packages/lernie/src/drive/session.ts";
import { initRepo, openRepo } from "../packages/lernie/src/git/repo.ts";
import { shippedTools } from "../packages/lernie/src/tools/definitions.ts";
import { layoutOf } from "../packages/lernie/src/workspace/layout.ts";

export interface Bench {
	readonly context: DriveContext;
	/** Founds an agent and drives it for `steps` model calls; `emit` sees every event as it happens. */
	readonly run: (steps: number, emit: (event: RunEvent) => void) => Promise<string>;
	readonly close: () => Promise<void>;
}

export interface BenchOptions {
	/** Every model call makes this one tool call, for ever. */
	readonly call: { readonly name: string; readonly input: Readonly<Record<string, unknown>> };
	/** External tools by name, as shell text. */
	readonly tools?: Readonly<Record<string, string>>;
}

const file = (path: string, body: string): void => {
	mkdirSync(dirname(path), { recursive: true });
	writeFileSync(path, body);
};

/** A workspace in a temporary directory whose agents repeat one call without end, with no control in the way. */
export const createBench = async ({ call, tools = {} }: BenchOptions): Promise<Bench> => {
	const root = mkdtempSync(join(tmpdir(), "lernie-bench-"));
	const [home, dir] = [join(root, "home"), join(root, "ws")];
	file(join(root, "script.yaml"), `{"calls": [{"tools": [${JSON.stringify(call)}]}], "then": "repeat"}`);
	for (const [name, body] of Object.entries(tools)) {
		file(join(home, `tools/${name}.json`), '{"type":"object"}');
		file(join(home, `tools/lernie-tool-${name}`), body);
		chmodSync(join(home, `tools/lernie-tool-${name}`), 0o755);
	}
	const layout = layoutOf(dir);
	mkdirSync(dir);
	const roots = { config: home, data: home };
	const effects: DriveContext["effects"] = {
		now: () => new Date(),
		random: randomBytes,
		sleep: () => Promise.resolve(),
		crash: () => undefined,
		env: { PATH: process.env.PATH, LERNIE_SCRIPT: join(root, "script.yaml") },
		self: { program: process.execPath, args: [] },
	};
	await initRepo(layout.repo);
	const repo = openRepo(layout.repo);
	const granted = [...shippedTools.keys(), ...Object.keys(tools)];
	const files = {
		"providers.yaml": `roles: {worker: {provider: scripted, model: bench, tools: [${granted.join(", ")}]}}`,
		"workflow.yaml": "tool_control: none\nlimits: {steps: unlimited, minutes: unlimited}\n",
	};
	const planned = new Map(Object.entries(files).map(([name, body]) => [name, Buffer.from(body)]));
	await authorConfig(repo, "default", planned, {
		effects,
		roots,
		workspace: dir,
		builtinTools: [...shippedTools.keys()],
	});
	const { signal: stop } = new AbortController();
	const context = { layout, repo, roots, effects, stop, emit: () => undefined };
	return {
		context,
		run: async (steps, emit) => {
			const founded = await found(context, { goal: "bench", limits: [`steps=${steps}`], config: "default" });
			await drive({ ...context, emit }, { agent: founded.agent, oneHop: false, lease: founded.lease });
			return founded.agent;
		},
		close: async () => {
			await repo.close();
			rmSync(root, { recursive: true, force: true });
		},
	};
};
