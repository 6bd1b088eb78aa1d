import { EXIT, type ExitCode, exitCodeOf, faultOf } from "@lernie/contract";

/** Where a verb's words go: stdout carries its one product, stderr everything else (DESIGN §6). */
export interface Output {
	readonly json: boolean;
	readonly product: (text: string) => void;
	/** A line to stderr. */
	readonly say: (text: string) => void;
	/** Text to stderr as it comes. */
	readonly prose: (text: string) => void;
}

/** Both streams, written as they come. When the reader goes away, as `head` does, the verb goes on unheard: a drive is not ended by it. */
export const createOutput = (json: boolean): Output => {
	let gone = false;
	process.stdout.on("error", (fault: NodeJS.ErrnoException) => {
		gone ||= fault.code === "EPIPE";
		if (!gone) process.exit(EXIT.failure);
	});
	process.stderr.on("error", () => undefined); // Nobody is left to be told.
	return {
		json,
		product: (text) => {
			if (!gone) process.stdout.write(text);
		},
		say: (text) => process.stderr.write(`${text}\n`),
		prose: (text) => process.stderr.write(text),
	};
};

/** One document of JSON, or its text for people. */
export const printDocument = (output: Output, document: unknown, text: string): void => {
	if (output.json) output.product(`${JSON.stringify(document)}\n`);
	else if (text !== "") output.product(text.endsWith("\n") ? text : `${text}\n`);
};

/** Says why a verb failed, for people on stderr and with `--json` as a document on stdout, and gives its exit code. */
export const reportFault = (output: Output, verb: string, thrown: unknown): ExitCode => {
	const fault = faultOf(thrown);
	output.say(`lernie ${verb}: ${fault.message}`);
	if (fault.code === "INTERNAL" && thrown instanceof Error && thrown.stack !== undefined) output.say(thrown.stack);
	const { code, message, data } = fault;
	if (output.json) output.product(`${JSON.stringify({ error: { code, message, data } })}\n`);
	return exitCodeOf(fault);
};

/** Ends the process once everything printed has left it; nothing that still hangs open can keep it. */
export const exitAfterOutput = (code: number): void => {
	process.stdout.write("", () => process.stderr.write("", () => process.exit(code)));
};
