import { readStrings } from "./input.ts";
import { type Builtin, failure } from "./types.ts";

/** Variables that make bash run files nobody judged (CONTRACTS §5). */
const UNSET: ReadonlySet<string> = new Set(["BASH_ENV", "ENV"]);

/** `{command}` as a new non-interactive shell; stdin is empty (`spec/tools.md` §10.1, CONTRACTS §5). */
export const bash: Builtin = async (input, { cwd, env, shell }) => {
	const given = readStrings(input, ["command"]);
	if (!given.ok) return failure("bash", given.why);
	if (shell === undefined) return failure("bash", "there is no bash on PATH; install bash to use this tool");
	const kept = Object.entries(env).filter(([name]) => !UNSET.has(name));
	return {
		kind: "run",
		command: {
			program: shell,
			args: ["--noprofile", "--norc", "-c", given.values.command],
			env: Object.fromEntries([...kept, ["LC_ALL", "C.UTF-8"]]),
			cwd,
		},
	};
};
