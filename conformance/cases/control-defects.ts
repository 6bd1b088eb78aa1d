import type { Mode } from "../support/controls.ts";

/** Where a defect goes into the control of `controlWith`, as JavaScript. */
interface Hooks {
	/** When it is started. */
	readonly start?: string;
	/** With `text`, before it is read: what throws here is no request either. */
	readonly text?: string;
	/** With `request`, once it was read. */
	readonly request?: string;
	/** With `said`, the bytes of the answer, which may be changed. */
	readonly said?: string;
	/** In place of an exit with another code, where the text is no request; `text` is what came. */
	readonly unreadable?: string;
	/** Once its stdin has ended; `rest` is what came after the last newline in mode `serve`. */
	readonly end?: string;
}

/** A control that breaks its contract in one way, and the points of `control test` that say so. */
export interface Defect extends Hooks {
	readonly id: string;
	readonly title: string;
	readonly fails: Partial<Readonly<Record<Mode, readonly string[]>>>;
	/** Variables of the environment in which the test is started. */
	readonly env?: Readonly<Record<string, string>>;
}

/** A control for both modes, as good as it gets but for the hooks. */
export const controlWith = (hooks: Hooks): string => `#!/usr/bin/env node
const { appendFileSync, readFileSync } = require("node:fs");
const serve = process.argv[2] === "serve";
let count = 0;
const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\\n");
const answer = (text) => {
	let request;
	try {
		${hooks.text ?? ""}
		request = JSON.parse(text);
		for (const key of ["id", "name", "role", "agent_id"])
			if (typeof request[key] !== "string" && !${hooks.request === "lax"}) throw new Error(key);
		if (typeof request.input !== "object") throw new Error("input");
	} catch {
		${hooks.unreadable ?? "process.exit(2)"}
		return;
	}
	count += 1;
	${hooks.request === "lax" ? "" : (hooks.request ?? "")}
	const verdict = request.name === "bash" ? { verdict: "hold", reason: "look at it" } : { verdict: "pass" };
	let said = JSON.stringify(serve ? { ...verdict, id: request.id } : verdict) + "\\n";
	${hooks.said ?? ""}
	if (said !== "") process.stdout.write(said);
};
${hooks.start ?? ""}
if (serve) {
	let rest = Buffer.alloc(0);
	process.stdin.on("data", (chunk) => {
		rest = Buffer.concat([rest, chunk]);
		for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
			const text = rest.subarray(0, end).toString();
			rest = rest.subarray(end + 1);
			answer(text);
		}
	});
	process.stdin.on("end", () => {
		${hooks.end ?? ""}
	});
} else {
	answer(readFileSync(0, "utf8"));
	${hooks.end ?? ""}
}
`;

const SLEEP = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);";

export const defects: readonly Defect[] = [
	{
		id: "control-test-answers",
		title: "it says nothing about one of the calls",
		said: 'if (request.name === "frobnicate") said = "";',
		fails: { once: ["answers"], serve: ["answers", "deadline", "order"] },
	},
	{
		id: "control-test-grammar",
		title: "it answers a call with a word of its own",
		said: 'if (request.name === "message") said = said.replace("pass", "allow");',
		fails: { once: ["grammar"], serve: ["grammar", "order"] },
	},
	{
		id: "control-test-exit-zero",
		title: "its exit code tells the verdict",
		end: "process.exitCode = 5;",
		said: 'if (!serve && request.name !== "message") return process.stdout.write(said, () => process.exit(0));',
		fails: { once: ["exit-zero"], serve: ["exit-zero"] },
	},
	{
		id: "control-test-deadline",
		title: "it takes too long over one of the calls",
		request: `if (request.name === "frobnicate") ${SLEEP}`,
		fails: { once: ["answers", "deadline"], serve: ["answers", "deadline", "order"] },
	},
	{
		id: "control-test-repeatable",
		title: "its reasons differ from time to time",
		said: 'said = said.replace("look", "look " + (serve ? count : process.pid));',
		fails: { once: ["repeatable"], serve: ["repeatable"] },
	},
	{
		id: "control-test-unknown-field",
		title: "it wants no key it does not know",
		request: "if (Object.keys(request).length > (serve ? 8 : 5)) process.exit(2);",
		fails: { once: ["unknown-field"], serve: ["unknown-field"] },
	},
	{
		id: "control-test-missing-field",
		title: "it does not miss a missing field",
		request: "lax",
		said: 'if (!request.role || !request.agent_id) said = said.replace(/"verdict":"hold","reason":"[^"]*"/, \'"verdict":"pass"\');',
		fails: { once: ["missing-field"], serve: ["missing-field"] },
	},
	{
		id: "control-test-not-json",
		title: "it passes what it cannot read",
		unreadable:
			'if (/^[^{]/.test(text) && !/input/.test(text)) say(serve ? { verdict: "pass", id: "call_1" } : { verdict: "pass" }); else process.exit(2);',
		fails: { once: ["not-json"], serve: ["not-json"] },
	},
	{
		id: "control-test-large-input",
		title: "it gives up on large requests",
		text: "if (text.length > 1024 * 1024) throw new Error();",
		fails: { once: ["large-input"], serve: ["large-input"] },
	},
	{
		id: "control-test-unread-stdin",
		title: "it passes what was cut off",
		unreadable: 'if (/"agent_id":"[^"]+$/.test(text)) say({ verdict: "pass" }); else process.exit(2);',
		end: 'if (serve && rest.length > 0) say({ verdict: "pass" });',
		fails: { once: ["unread-stdin"], serve: ["unread-stdin"] },
	},
	{
		id: "control-test-environment",
		title: "it needs a variable that it is not given",
		start: "if (process.env.ACME_TOKEN === undefined) process.exit(7);",
		env: { ACME_TOKEN: "t" },
		fails: { once: ["answers", "environment"], serve: ["answers", "environment"] },
	},
	{
		id: "control-test-writes-nothing",
		title: "it keeps a log where it is started",
		request: 'appendFileSync("log", "x");',
		fails: { once: ["writes-nothing"], serve: ["writes-nothing"] },
	},
	{
		id: "control-test-sigterm",
		title: "it does not heed SIGTERM",
		// In mode once a read that blocks keeps Node from its handlers, which is what not to heed it comes to.
		start: 'process.on("SIGTERM", () => undefined);',
		fails: { once: ["sigterm"], serve: ["sigterm"] },
	},
	{
		id: "control-test-order",
		title: "it says goodbye",
		end: 'process.stdout.write("bye\\n");',
		fails: { serve: ["order"] },
	},
	{
		id: "control-test-id",
		title: "it cuts long ids",
		said: "said = said.replace(request.id, request.id.slice(0, 100));",
		fails: { serve: ["id"] },
	},
];
