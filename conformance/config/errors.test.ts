import { expect } from "vitest";
import { type ConfigMistake, providers, workflow } from "../cases/config-errors.ts";
import { createPlace } from "../support/place.ts";
import { everything } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

const GOOD = {
	providers: "roles:\n  worker: {provider: scripted, model: m, tools: [bash]}\n",
	workflow: "tool_control: none\n",
};

const refuses = async (file: "providers" | "workflow", mistakes: readonly ConfigMistake[]): Promise<void> => {
	const place = createPlace();
	for (const [name, text] of Object.entries(GOOD)) place.write(`home/template/${name}.yaml`, text);
	const env = { LERNIE_SCRIPT: place.write("script.yaml", "calls: []\n") };
	for (const [text, says] of mistakes) {
		const whole = file === "providers" || text.startsWith("tool_control") ? text : `${GOOD.workflow}${text}`;
		place.write(`home/template/${file}.yaml`, `${whole}\n`);
		const before = everything(place.root);
		const args = ["new", place.path("ws"), "--json"];
		const { code, stderr, stdout } = await place.lernie(args, { env });
		expect.soft({ text, code, stderr }).toEqual({ text, code: 3, stderr: expect.stringContaining(`${file}.yaml:`) });
		expect.soft(stderr, text).toContain(says);
		expect.soft(JSON.parse(stdout), text).toMatchObject({ error: { code: "CONFIG" } });
		expect.soft(everything(place.root), text).toEqual(before);
	}
};

verifies(
	["contract-config-workflow", "tools-148"],
	"a mistake in workflow.yaml is refused with its place, and nothing is created",
	() => refuses("workflow", workflow),
);

verifies(
	"contract-config-providers",
	"a mistake in providers.yaml is refused with its place, and nothing is created",
	() => refuses("providers", providers),
);

verifies(
	"contract-config-drive",
	"a committed configuration that does not load refuses the drive with 3, naming commit, line and column",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ attempts: [{ error: { status: 400 } }], say: "done" }] } });
		const { agent } = await ws.run();
		ws.reconfigure(agent, { workflow: { limits: { step: 3 } } });
		const [tip, config] = [ws.tip(agent), ws.git("rev-parse", "config/default").trim()];
		const says = `${config.slice(0, 12)}:workflow.yaml:3:3: limits.step: unknown key. did you mean "steps"?`;
		const command = {
			advance: ["advance", agent],
			run: ["run", "hi"],
			check: ["config", "check"],
			show: ["config", "show"],
		};
		for (const [verb, args] of Object.entries(command)) {
			const ran = await ws.in(args);
			expect.soft(ran, verb).toMatchObject({ code: 3, stdout: "" });
			expect.soft(ran.stderr, verb).toContain(says);
		}
		expect(ws.tip(agent)).toBe(tip);
		expect(JSON.parse((await ws.in(["ls", "--json"])).stdout)).toHaveLength(1);
	},
);

verifies(
	"contract-no-control",
	"a configuration without tool_control does not load, however it is left out",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
		const roles = ws.git("rev-parse", "config/default:providers.yaml").trim();
		for (const [at, text] of ["limits: {steps: 3}\n", "tool_control:\n", "tool_control: ~\n", ""].entries()) {
			const flow = ws.gitInput(text, "hash-object", "-w", "--stdin").trim();
			const files = `100644 blob ${roles}\tproviders.yaml\n100644 blob ${flow}\tworkflow.yaml\n`;
			const who = ["-c", "user.name=t", "-c", "user.email=t@t"];
			const commit = ws.gitInput("config\n", ...who, "commit-tree", ws.gitInput(files, "mktree").trim()).trim();
			ws.git("update-ref", `refs/heads/config/bare${at}`, commit);
			const ran = await ws.run("hi", { flags: ["--config", `bare${at}`] });
			expect.soft(ran, text).toMatchObject({ code: 3, stdout: "" });
			expect
				.soft(ran.stderr, text)
				.toMatch(new RegExp(`${commit.slice(0, 12)}:workflow.yaml:1:(1|15): tool_control: missing`));
		}
		expect(await ws.in(["ls", "--json"])).toMatchObject({ stdout: "[]\n" });
	},
);
