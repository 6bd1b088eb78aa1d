import { expect } from "vitest";
import { misuse, needsWorkspace, refused } from "../cases/exits.ts";
import { createPlace } from "../support/place.ts";
import { everything } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

const PAIR = 2;

/** Runs commands two at a time: each is a process of its own and none changes anything. */
const each = async <T>(cases: readonly T[], act: (one: T) => Promise<void>): Promise<void> => {
	for (let at = 0; at < cases.length; at += PAIR) await Promise.all(cases.slice(at, at + PAIR).map(act));
};

verifies("contract-exit-usage", "misuse is 2 with a word on stderr, and with --json a document", async () => {
	const place = createPlace();
	const before = everything(place.root);
	await each(misuse, async (args) => {
		const { code, stdout, stderr } = await place.lernie(args);
		expect.soft({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
		expect.soft(stderr, args.join(" ")).not.toBe("");
	});
	const json = await place.lernie(["run", "--json"]);
	expect(json.code).toBe(2);
	expect(JSON.parse(json.stdout)).toMatchObject({ error: { code: "USAGE", message: expect.any(String), data: {} } });
	for (const env of [{ LERNIE_NOW: "yesterday" }, { LERNIE_CRASH_AT: "nowhere" }])
		expect((await place.lernie(["ls"], { env })).code).toBe(2);
	expect(everything(place.root)).toEqual(before);
});

verifies(
	"contract-exit-workspace",
	"outside a workspace every verb is refused with 3, and nothing is created",
	async () => {
		const place = createPlace();
		const before = everything(place.root);
		await each(needsWorkspace, async (args) => {
			for (const at of [[], ["-w", "nowhere"]]) {
				const { code, stdout, stderr } = await place.lernie([...at, ...args]);
				expect.soft({ args, at, code, stdout }).toEqual({ args, at, code: 3, stdout: "" });
				expect.soft(stderr).toMatch(new RegExp(`^lernie ${args[0]}: .*not (in )?a workspace.*lernie new`));
			}
		});
		expect(everything(place.root)).toEqual(before);
	},
);

verifies(
	["contract-exit-refused", "tools-236"],
	"a refusal is 3, says why in one line, and leaves everything as it was",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
		const before = everything(ws.root);
		const tool: readonly [RegExp, ...string[]] = [/model/, "run", "--model", "scripted/tool", "hi"];
		await each([...refused, tool], async ([why, ...args]) => {
			const { code, stdout, stderr } = await ws.in(args);
			expect.soft({ args, code, stdout }, stderr).toEqual({ args, code: 3, stdout: "" });
			expect.soft(stderr).toMatch(/^lernie [a-z]+: [^\n]+\n$/);
			expect.soft(stderr, args.join(" ")).toMatch(why);
		});
		expect(everything(ws.root)).toEqual(before);
		expect(ws.git("for-each-ref", "--format=%(refname)").trim()).toBe("refs/heads/config/default");
	},
);

verifies(
	"contract-exit-zero",
	"every verb that only looks is 0 in a fresh workspace and in one with an agent",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ say: "done" }] } });
		const looks = [["ls"], ["held"], ["doctor"], ["config", "show"], ["config", "check"], ["--help"], ["--version"]];
		const check = (args: readonly string[]): Promise<void> =>
			ws.in(args).then((ran) => expect.soft({ args, code: ran.code }, ran.stderr).toEqual({ args, code: 0 }));
		await each([...looks, ["doctor", "--crash-sites"], ["run", "--help"]], check);
		expect((await ws.in(["log"])).code).toBe(3);
		const { agent } = await ws.run();
		await each([...looks, ["log"], ["advance", agent], ["advance", "--hop", agent]], check);
	},
);
