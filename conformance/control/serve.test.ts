import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect } from "vitest";
import { consults, PASS, shellControl, tableControl, ticks, tickTool } from "../support/controls.ts";
import { createPlace, type Place, until } from "../support/place.ts";
import { bash } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { CALLS, createWindow, HOLD, recorded } from "../support/window.ts";
import { digestOf, type Workspace } from "../support/workspace.ts";

const SERVE = { controlOptions: { mode: "serve" } } as const;

const lines = (place: Place, file: string): readonly string[] =>
	place.exists(file) ? place.read(file).trimEnd().split("\n") : [];

const alive = (pid: number): boolean =>
	existsSync(`/proc/${pid}`) && !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));

/** A control that stays and passes; each process of it adds its number to `pids` once it runs, then `start` is done. */
const staying = (place: Place, asked = "", start = ""): string => {
	const answer = shellControl(place, `${asked}\nsay '${PASS}'`, "answer", "serve");
	return place.script("control", `#!/bin/sh\necho $$ >> ${place.path("pids")}\n${start}\n. ${answer}\n`);
};

/** The groups on record that the next drive would end. */
const running = (ws: Workspace, agent: string): readonly string[] => {
	const directory = ws.path("ws/steps", agent, "running");
	return existsSync(directory) ? readdirSync(directory) : [];
};

verifies(
	"control-serve-start",
	"one process a drive, in the workspace, with one argument; the next drive has its own",
	async () => {
		const place = createPlace();
		const control = staying(place, "", `pwd >> ${place.path("where")}; echo "$# $*" >> ${place.path("args")}`);
		const script = {
			calls: [
				{ tools: CALLS.slice(0, 2) },
				{ tools: [CALLS[2]] },
				{ say: "done" },
				{ tools: [CALLS[0]] },
				{ say: "more" },
			],
		};
		const ws = await createWindow(3, {}, { place, control, script, ...SERVE });
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(ticks(ws)).toEqual(["alpha", "beta", "gamma"]);
		expect(lines(place, "pids")).toHaveLength(1);
		expect(await ws.in(["message", ran.agent, "go on"])).toMatchObject({ code: 0 });
		await until("the second drive to end", () => ws.entries(ran.agent).at(-1)?.text.includes("more"));
		const [first, second, ...others] = lines(place, "pids");
		expect(others).toEqual([]);
		expect(second).not.toBe(first);
		expect(lines(place, "where")).toEqual([ws.dir, ws.dir]);
		expect(lines(place, "args")).toEqual(["1 serve", "1 serve"]);
	},
);

verifies("control-serve-lazy", "a drive without a call starts no control", async () => {
	const place = createPlace();
	const ws = await createWindow(
		1,
		{},
		{ place, control: staying(place), script: { calls: [{ say: "hi" }] }, ...SERVE },
	);
	expect(await ws.run()).toMatchObject({ code: 0 });
	expect(lines(place, "pids")).toEqual([]);
});

verifies(
	"control-serve-request",
	"a request is one line: the five keys, then program, sha256 and confined; the digest stays over the five",
	async () => {
		const place = createPlace();
		const input = '{ "b" : 9007199254740993 ,\n"a" : [ 1.0, "x\u2028 y" ] }';
		const tools = [
			{ id: "t1", name: "alpha", input_json: input },
			{ id: "t2", name: "cd", input: { path: "." } },
		];
		const ws = await createWindow(
			1,
			{},
			{ place, script: { calls: [{ tools }, { say: "done" }] }, tools: ["alpha", "cd"], ...SERVE },
		);
		const { agent } = await ws.run();
		const program = ws.path("home/tools/lernie-tool-alpha");
		const sha256 = createHash("sha256").update(readFileSync(program)).digest("hex");
		const compact = '{"b":9007199254740993,"a":[1.0,"x\u2028 y"]}';
		const asked = (id: string, name: string, args: string): string =>
			`{"id":"${id}","name":"${name}","input":${args},"role":"worker","agent_id":"${agent}"`;
		expect(consults(ws)).toEqual([
			`${asked("t1", "alpha", compact)},"program":"${program}","sha256":"${sha256}","confined":false}`,
			`${asked("t2", "cd", '{"path":"."}')},"program":"builtin:cd","sha256":null,"confined":false}`,
		]);
		const digest = digestOf({ id: "t1", name: "alpha", input: compact }, agent);
		expect(ws.trailers(agent, "Lernie-Digest")[1]).toBe(digest);
	},
);

verifies("control-serve-environment", "its environment is the closed list and says nothing about a call", async () => {
	const place = createPlace();
	const control = staying(place, "", `env > ${place.path("env")}`);
	const ws = await createWindow(1, {}, { place, control, controlOptions: { mode: "serve", env: ["EXTRA"] } });
	const { agent } = await ws.run("go", { env: { EXTRA: "e", OPENAI_API_KEY: "sk-1" } });
	const names = lines(place, "env").map((line) => line.split("=")[0]);
	expect(lines(place, "env")).toEqual(
		expect.arrayContaining([`LERNIE_CONV_REPO=${ws.dir}`, `LERNIE_CONV_BRANCH=${agent}`, "EXTRA=e"]),
	);
	expect(names.filter((name) => /^(OPENAI|LERNIE_(TOOL|CONFINED|CALL|SCRIPT))/.test(name ?? ""))).toEqual([]);
});

verifies("control-serve-verdicts", "a pass runs, a refusal is read by the model, a hold parks", async () => {
	const REFUSE = '{"verdict":"refuse","reason":"not on my watch"}';
	const ws = await createWindow(3, { t2: REFUSE, t3: HOLD }, SERVE);
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 10 });
	expect(ticks(ws)).toEqual(["alpha"]);
	expect(ws.results(ran.agent)).toMatchObject([
		{ id: "t1", isError: false },
		{ id: "t2", isError: true, text: expect.stringContaining("not on my watch") },
	]);
	expect(ws.mark(ran.agent)).toMatchObject({ tool_use_id: "t3", kind: "hold", reason: "ask first" });
});

verifies(
	"control-serve-between",
	"a line written between two consults answers nothing: the next call is parked, and the next drive asks a new process",
	async () => {
		const place = createPlace();
		const early = place.path("early");
		// While the first call runs, the answer to the second is written, unless the control was mended.
		const begun = `while [ ! -s ${place.path("ticks.log")} ]; do sleep 0.01; done`;
		const after = `[ -e ${place.path("mended")} ] || { ${begun}; echo '{"verdict":"pass","id":"t2"}'; touch ${early}; }`;
		const answer = shellControl(place, `say '${PASS}'\n${after}`, "answer", "serve");
		const control = place.script("control", `#!/bin/sh\necho $$ >> ${place.path("pids")}\n. ${answer}\n`);
		const ws = await createWindow(2, {}, { place, control, ...SERVE });
		// The driver may hear the line, and end the control for it, before the control gets to its next command.
		const lives = `kill -0 $(cat ${place.path("pids")}) 2>/dev/null`;
		tickTool(place, "alpha", `while [ ! -e ${early} ] && ${lives}; do sleep 0.01; done`);
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 14 });
		expect(ticks(ws)).toEqual(["alpha"]);
		expect(recorded(ws, ran.agent)).toEqual(["001/t1"]);
		expect(ws.mark(ran.agent)).toMatchObject({
			tool_use_id: "t2",
			kind: "fault",
			reason: expect.stringContaining("it wrote while nothing was asked"),
		});
		place.write("mended", "");
		const again = await ws.advance(ran.agent);
		expect(again, again.stderr).toMatchObject({ code: 0 });
		expect(ticks(ws)).toEqual(["alpha", "beta"]);
		expect(new Set(lines(place, "pids")).size).toBe(2);
	},
);

verifies(
	"control-serve-killed-between",
	"a control that ended between two consults is started again and nobody is told",
	async () => {
		const place = createPlace();
		const ws = await createWindow(2, {}, { place, control: staying(place), ...SERVE });
		const dead = "! grep -q '^State:[[:space:]]*[^ZX[:space:]]' /proc/$pid/status 2>/dev/null";
		const kill = `pid=$(cat ${place.path("pids")})\nkill -KILL $pid\nuntil ${dead}; do sleep 0.01; done`;
		tickTool(place, "alpha", kill);
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(ticks(ws)).toEqual(["alpha", "beta"]);
		expect(lines(place, "pids")).toHaveLength(2);
	},
);

verifies(
	"control-serve-fault-ends-group",
	"after a fault its whole group has ended, and so has it when the drive ends",
	async () => {
		const place = createPlace();
		const pids = place.path("family");
		const control = shellControl(
			place,
			`sh -c 'trap "" TERM; echo $$ >> ${pids}; while :; do sleep 0.1; done' >/dev/null 2>&1 &\nwhile [ ! -s ${pids} ]; do sleep 0.01; done\necho nonsense`,
			"control",
			"serve",
		);
		const ws = await createWindow(1, {}, { place, control, ...SERVE });
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 14 });
		expect(lines(place, "family").map(Number).map(alive)).toEqual([false]);
		expect(running(ws, ran.agent)).toEqual([]);
	},
);

verifies("control-serve-end", "at the end of a drive its stdin is closed, and it may still finish", async () => {
	const place = createPlace();
	const answer = shellControl(place, `say '${PASS}'`, "answer", "serve");
	const control = place.script("control", `#!/bin/sh\n. ${answer}\necho ended > ${place.path("ended")}\n`);
	const ws = await createWindow(1, {}, { place, control, ...SERVE });
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(place.read("ended")).toBe("ended\n");
	expect(running(ws, ran.agent)).toEqual([]);
});

verifies("control-serve-end", "one that does not go is told with SIGTERM, and then killed", async () => {
	const place = createPlace();
	const said = place.path("said");
	const answer = shellControl(place, `say '${PASS}'`, "answer", "serve");
	const deaf = `trap 'date +%s%N >> ${said}' TERM`;
	const control = place.script(
		"control",
		`#!/bin/sh\necho $$ >> ${place.path("pids")}\n${deaf}\n. ${answer}\ndate +%s%N >> ${said}\nwhile :; do sleep 0.05; done\n`,
	);
	const ws = await createWindow(1, {}, { place, control, ...SERVE });
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	const [closed = 0, told = 0] = lines(place, "said").map((ns) => Number(ns) / 1e6);
	expect(told - closed).toBeGreaterThan(1000);
	expect(lines(place, "pids").map(Number).map(alive)).toEqual([false]);
	expect(running(ws, ran.agent)).toEqual([]);
});

verifies("control-serve-label", "a result names the file that its control was started from", async () => {
	const place = createPlace();
	const control = staying(place);
	const label = (): string => `${control} sha256:${createHash("sha256").update(readFileSync(control)).digest("hex")}`;
	const first = label();
	const more = `echo '# more' > ${control}.new; cat ${control} >> ${control}.new; chmod +x ${control}.new; mv ${control}.new ${control}`;
	const script = {
		calls: [{ tools: [{ ...bash(more), id: "t1" }] }, { tools: [CALLS[1]] }, { say: "done" }],
	};
	const ws = await createWindow(2, {}, { place, control, script, tools: ["bash", "beta"], ...SERVE });
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(label()).not.toBe(first);
	expect(ws.trailers(ran.agent, "Lernie-Control")).toEqual([first, first]);
});

verifies("control-serve-deadline", "the time of a consult counts from its request", async () => {
	const place = createPlace();
	const control = staying(place, "sleep 1.5");
	const ws = await createWindow(3, {}, { place, control, controlOptions: { mode: "serve", timeout_seconds: 4 } });
	const ran = await ws.run();
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ticks(ws)).toEqual(["alpha", "beta", "gamma"]);
	expect(lines(place, "pids")).toHaveLength(1);
});

verifies("control-serve-config", "the mode of a control is shown with what is in effect", async () => {
	const place = createPlace();
	const ws = await createWindow(1, {}, { place, control: tableControl(place, {}), ...SERVE });
	expect((await ws.in(["config", "show"])).stdout).toMatch(/^ {2}mode: serve$/m);
});
