const NEWLINE = 0x0a;
const STDERR_MARKER = "--- stderr ---\n";

export const exitHeader = (code: number): string => `Exit code: ${code}`;
export const timeoutHeader = (seconds: number): string => `timed out after ${seconds} s`;

/** The bytes of a tool result: one header line, stdout, and stderr under its own line where there is any (`spec/tools.md` §9.1). */
export const renderEnvelope = (header: string, stdout: Buffer, stderr: Buffer): Buffer => {
	const upper = Buffer.concat([Buffer.from(`${header}\n`), stdout]);
	if (stderr.length === 0) return upper;
	const separator = upper.at(-1) === NEWLINE ? "" : "\n";
	return Buffer.concat([upper, Buffer.from(`${separator}${STDERR_MARKER}`), stderr]);
};
