import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createControl } from "../packages/lernie/src/control/create.ts";
import type { Question } from "../packages/lernie/src/control/types.ts";
import { median } from "./measure.ts";

/** A control for both modes that passes everything. */
const CONTROL = `#!${process.execPath}
const { readFileSync } = require("node:fs");
const say = (answer) => process.stdout.write(JSON.stringify(answer) + "\\n");
if (process.argv[2] === "serve") {
	let rest = "";
	process.stdin.setEncoding("utf8").on("data", (text) => {
		const lines = (rest + text).split("\\n");
		rest = lines.pop();
		for (const line of lines) say({ verdict: "pass", id: JSON.parse(line).id });
	});
} else {
	JSON.parse(readFileSync(0, "utf8"));
	say({ verdict: "pass" });
}
`;

const QUESTION: Question = {
	call: { id: "call_1", name: "bash", input: '{"command":"npm test"}' },
	caller: { agent: "a", role: "worker" },
	program: "/bin/bash",
	sha256: undefined,
	confined: false,
};

const measureMode = async (
	workspace: string,
	command: string,
	mode: "once" | "serve",
	times: number,
): Promise<number> => {
	const control = createControl(
		{ kind: "command", command, mode, timeoutSeconds: 60, env: [] },
		{
			workspace,
			env: { PATH: process.env.PATH },
			effects: { crash: () => undefined },
			track: () => () => undefined,
		},
	);
	const samples: number[] = [];
	try {
		for (let asked = 0; asked <= times; asked += 1) {
			const began = performance.now();
			const { verdict } = await control.adjudicate(QUESTION);
			if (verdict !== "pass") throw new Error(`the control of the bench answered ${verdict}`);
			// The first of mode serve starts the process.
			if (asked > 0) samples.push(performance.now() - began);
		}
	} finally {
		await control.close();
	}
	return median(samples);
};

export interface ConsultFigures {
	readonly onceMs: number;
	readonly serveMs: number;
}

/** What asking the same Node control costs when it is started for each call, and when it stays. Median milliseconds. */
export const measureConsults = async (): Promise<ConsultFigures> => {
	const workspace = mkdtempSync(join(tmpdir(), "lernie-bench-"));
	try {
		const command = join(workspace, "control");
		writeFileSync(command, CONTROL);
		chmodSync(command, 0o755);
		return {
			onceMs: await measureMode(workspace, command, "once", 20),
			serveMs: await measureMode(workspace, command, "serve", 500),
		};
	} finally {
		rmSync(workspace, { recursive: true, force: true });
	}
};
