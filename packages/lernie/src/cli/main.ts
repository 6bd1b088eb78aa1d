import { readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { EXIT } from "@lernie/contract";
import { CommanderError } from "commander";
import { closeInherited } from "../process/inherited.ts";
import { createOutput, exitAfterOutput, reportFault } from "./output.ts";
import { parseArguments } from "./program.ts";
import { createWorld } from "./world.ts";

/** The version of the package whose launcher this process was started with. */
const packageVersion = (): string => {
	const launcher = realpathSync(process.argv[1] ?? "");
	const file = readFileSync(join(dirname(dirname(launcher)), "package.json"), "utf8");
	return (JSON.parse(file) as { version: string }).version;
};

/** Runs the verb the arguments ask for and answers the process's exit code; everything it says is written by then. */
const main = async (argv: readonly string[]): Promise<number> => {
	// Misuse must be reported as JSON where it was asked for, even when the arguments do not parse.
	const json = argv.includes("--json");
	const output = createOutput(json);
	let said = "";
	const write = {
		out: (text: string) => output.product(text),
		err: (text: string) => {
			said += text;
			process.stderr.write(text);
		},
	};
	let verb = argv.find((argument) => !argument.startsWith("-")) ?? "";
	try {
		const parsed = parseArguments(argv, packageVersion(), write);
		verb = parsed.verb;
		return await parsed.action(createWorld(parsed, createOutput(parsed.json)));
	} catch (thrown) {
		if (!(thrown instanceof CommanderError)) return reportFault(output, verb, thrown);
		if (thrown.exitCode === 0) return EXIT.done;
		if (json) output.product(`${JSON.stringify({ error: { code: "USAGE", message: said.trim(), data: {} } })}\n`);
		return EXIT.usage;
	}
};

closeInherited();
exitAfterOutput(await main(process.argv.slice(2)));
