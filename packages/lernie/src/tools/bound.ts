import type { Captured, CaptureLimits } from "../process/collector.ts";

const NEWLINE = 0x0a;

/**
 * A stream as the model sees it: whole where it fits, else its two ends around one marker line that says what is missing
 * and where all of it is (`spec/tools.md` §9.2). `recordPath` is relative to the workspace. Cuts bytes, not characters.
 */
export const boundStream = (
	stream: Captured,
	{ headBytes, tailBytes }: CaptureLimits,
	label: "stdout" | "stderr",
	recordPath: string,
): Buffer => {
	const { head, tail, bytes, lines } = stream;
	if (bytes <= headBytes + tailBytes) return Buffer.concat([head, tail]);
	const separator = head.length > 0 && head.at(-1) !== NEWLINE ? "\n" : "";
	const marker =
		`[... ${label} truncated: ${bytes} bytes / ${lines} lines total; ` +
		`showing the first ${headBytes} and last ${tailBytes} bytes; full record: ${recordPath} ...]\n`;
	return Buffer.concat([head, Buffer.from(`${separator}${marker}`), tail]);
};
