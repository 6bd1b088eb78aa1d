/** One external tool and what the model reads of it. `@RECORD@` is the path of the call's record. */
export interface ResultCase {
	readonly id: string | readonly string[];
	readonly name: string;
	/** Body of the tool, shell. */
	readonly body: string;
	/** `tool_output` of the workflow; absent, the shipped bound. */
	readonly bound?: readonly [head: number, tail: number];
	readonly text: string;
	readonly isError?: boolean;
	/** What `output.json` holds, whole, whatever the bound. */
	readonly stdout?: string;
	readonly stderr?: string;
}

const marker = (label: string, counts: string, head: number, tail: number): string =>
	`[... ${label} truncated: ${counts} total; showing the first ${head} and last ${tail} bytes; full record: @RECORD@ ...]\n`;

export const envelopes: readonly ResultCase[] = [
	{
		id: "tools-151",
		name: "both streams end their lines",
		body: "printf 'built\\n'; printf 'warning\\n' >&2",
		text: "Exit code: 0\nbuilt\n--- stderr ---\nwarning\n",
	},
	{
		id: "tools-152",
		name: "an empty stdout leaves no blank line",
		body: "printf 'nope\\n' >&2; exit 127",
		text: "Exit code: 127\n--- stderr ---\nnope\n",
		isError: true,
	},
	{
		id: "tools-153",
		name: "a newline goes before the marker and none after the text",
		body: "printf 'no nl'; printf note >&2",
		text: "Exit code: 0\nno nl\n--- stderr ---\nnote",
	},
	{
		id: "tools-154",
		name: "without stderr there is no marker",
		body: "printf partial; exit 3",
		text: "Exit code: 3\npartial",
		isError: true,
	},
	{ id: "tools-155", name: "silence is the header alone", body: ":", text: "Exit code: 0\n" },
	{
		id: "tools-128",
		name: "a failing exit code is an error and both streams are there",
		body: "echo out; echo err >&2; exit 7",
		text: "Exit code: 7\nout\n--- stderr ---\nerr\n",
		isError: true,
	},
	{
		id: "tools-128",
		name: "stderr alone makes no error",
		body: "echo careful >&2",
		text: "Exit code: 0\n--- stderr ---\ncareful\n",
	},
];

const MANY = `${"0123456789abcdef".repeat(64)}\n`.repeat(64); // 65,600 bytes in 64 lines

export const bounds: readonly ResultCase[] = [
	{
		id: "tools-138",
		name: "what fits is byte-identical",
		body: `i=0; while [ $i -lt 64 ]; do printf '%s\\n' ${"0123456789abcdef".repeat(64)}; i=$((i+1)); done`,
		bound: [1_048_576, 1_048_576],
		text: `Exit code: 0\n${MANY}`,
	},
	{
		id: ["contract-output-default", "tools-130"],
		name: "without a setting 16384 bytes of each end are shown, and the record holds all",
		body: `i=0; while [ $i -lt 64 ]; do printf '%s\\n' ${"0123456789abcdef".repeat(64)}; i=$((i+1)); done`,
		text: `Exit code: 0\n${MANY.slice(0, 16_384)}\n${marker("stdout", "65600 bytes / 64 lines", 16_384, 16_384)}${MANY.slice(-16_384)}`,
		stdout: MANY,
	},
	{
		id: "tools-139",
		name: "head and tail together are untouched",
		body: "printf abcdef",
		bound: [4, 2],
		text: "Exit code: 0\nabcdef",
	},
	{
		id: "tools-140",
		name: "a cut after a newline needs no other",
		body: "printf 'AAAA\\nmiddle-middle-middle\\nZZZZ\\n'",
		bound: [5, 5],
		text: `Exit code: 0\nAAAA\n${marker("stdout", "31 bytes / 3 lines", 5, 5)}ZZZZ\n`,
		stdout: "AAAA\nmiddle-middle-middle\nZZZZ\n",
	},
	{
		id: "tools-141",
		name: "stderr is cut by itself",
		body: "printf abcdefghijklmnop >&2",
		bound: [4, 4],
		text: `Exit code: 0\n--- stderr ---\nabcd\n${marker("stderr", "16 bytes / 1 lines", 4, 4)}mnop`,
		stderr: "abcdefghijklmnop",
	},
	{
		id: "tools-142",
		name: "without a head the marker comes first",
		body: "printf 'abcdefgh\\n'",
		bound: [0, 4],
		text: `Exit code: 0\n${marker("stdout", "9 bytes / 1 lines", 0, 4)}fgh\n`,
	},
	{
		id: "contract-bound-zero",
		name: "without either end the marker is all",
		body: "printf abcdefgh",
		bound: [0, 0],
		text: `Exit code: 0\n${marker("stdout", "8 bytes / 1 lines", 0, 0)}`,
		stdout: "abcdefgh",
	},
	{
		id: "tools-145",
		name: "a large stderr cuts neither stdout nor the envelope",
		body: "echo small; printf '%0100d' 0 >&2",
		bound: [8, 8],
		text: `Exit code: 0\nsmall\n--- stderr ---\n00000000\n${marker("stderr", "100 bytes / 1 lines", 8, 8)}00000000`,
	},
	{
		id: "tools-147",
		name: "a cut goes through a character and the counts are of bytes",
		body: "printf '\\303\\251\\303\\251'",
		bound: [1, 1],
		text: `Exit code: 0\n\uFFFD\n${marker("stdout", "4 bytes / 1 lines", 1, 1)}\uFFFD`,
		stdout: "éé",
	},
];
