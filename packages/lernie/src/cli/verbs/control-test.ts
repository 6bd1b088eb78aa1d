import { resolve } from "node:path";
import { EXIT, type ExitCode, LernieError } from "@lernie/contract";
import { CONTROL_TIMEOUT_MAX_SECONDS } from "@lernie/contract/config";
import { CONTROL_TIMEOUT_SECONDS } from "../../config/workflow.ts";
import { type Result, testControl } from "../../control/test/run.ts";
import { checkControlFile } from "../control-file.ts";
import { excerpt } from "../printable.ts";
import { stopOnSignals } from "../stop-signal.ts";
import type { World } from "../world.ts";

export interface ControlTestFlags {
	readonly mode: string;
	readonly timeout?: string;
}

const SHOWN = 400;

const modeFlag = (given: string): "once" | "serve" => {
	if (given === "once" || given === "serve") return given;
	throw new LernieError("ARGUMENT", `--mode ${given}: there is none of that name. Give once or serve`, { given });
};

const timeoutFlag = (given: string | undefined): number => {
	if (given === undefined) return CONTROL_TIMEOUT_SECONDS;
	const seconds = /^\d+(\.\d+)?$/.test(given) ? Number(given) : 0;
	if (seconds > 0 && seconds <= CONTROL_TIMEOUT_MAX_SECONDS) return seconds;
	const range = `a number of seconds above 0, at most ${CONTROL_TIMEOUT_MAX_SECONDS}`;
	throw new LernieError("ARGUMENT", `--timeout ${given}: not a time limit. Give ${range}`, { given });
};

const MARKS = { true: "ok", false: "FAIL", null: "skip" } as const;

const line = ({ id, ok, detail }: Result): string => `${MARKS[`${ok}`]} ${id} ${excerpt(detail.trim(), SHOWN)}\n`;

/** `control test <command>`: a control put through each point of its contract (CONTRACTS §10). */
export const controlTest = async (world: World, command: string, flags: ControlTestFlags): Promise<ExitCode> => {
	const { effects, output } = world;
	const path = resolve(world.cwd, command);
	const [mode, timeoutSeconds] = [modeFlag(flags.mode), timeoutFlag(flags.timeout)];
	checkControlFile(path, command);
	const results = await testControl(
		{ kind: "command", command: path, mode, timeoutSeconds, env: [] },
		{ env: effects.env, effects, stop: stopOnSignals(), track: () => () => undefined },
		(result) => {
			if (!output.json) output.product(line(result));
		},
	);
	const count = (wanted: boolean): number => results.filter(({ ok }) => ok === wanted).length;
	if (output.json)
		output.product(`${JSON.stringify({ points: results.map(({ id, ok, detail }) => ({ id, ok, detail })) })}\n`);
	else output.product(`${count(true)} passed, ${count(false)} failed\n`);
	return count(false) === 0 ? EXIT.done : EXIT.failure;
};
