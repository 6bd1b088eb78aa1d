/**
 * What a control answers, and the one thing it may lead to (`spec/tools.md` §12.2): in mode `once` its whole stdout with exit
 * code 0; in mode `serve` with the id put in (`servedBytes`), a line of which this is all.
 */
export interface VerdictCase {
	readonly id: string;
	readonly title: string;
	readonly stdout: string | Uint8Array;
	readonly outcome: "runs" | "declined" | "fault";
	/** Where mode `serve` differs: an answer that holds a newline is no line. */
	readonly served?: "fault";
	/** Part of the fault's reason. */
	readonly detail?: string;
	/** The verdict is on stderr, stdout is empty. */
	readonly onStderr?: true;
}

const bytes = (...parts: readonly (string | readonly number[])[]): Uint8Array =>
	Buffer.concat(parts.map((part) => Buffer.from(part as string)));

/** The bytes with `"id":"t1"` as the first key of the first object in them, and a newline at the end. */
export const servedBytes = ({ stdout }: VerdictCase): Buffer => {
	const text = Buffer.from(stdout).toString("latin1");
	const named = text.replace(/\{("?)/, (_, quote: string) => `{"id":"t1"${quote === "" ? "" : `,${quote}`}`);
	return Buffer.from(`${named}\n`, "latin1");
};

const NOT_A_VERDICT = "stdout is not a verdict";

export const verdictCases: readonly VerdictCase[] = [
	{ id: "tools-13", title: "a pass", stdout: '{"verdict":"pass"}', outcome: "runs" },
	{ id: "tools-14", title: "a pass between blanks", stdout: ' \t{"verdict" : "pass" } \r', outcome: "runs" },
	{
		id: "tools-14",
		title: "a pass between empty lines",
		stdout: ' \t\n{"verdict":"pass"}\r\n \n',
		outcome: "runs",
		served: "fault",
	},
	{
		id: "tools-14",
		title: "a pass over three lines",
		stdout: '{"verdict"\n:\n"pass"}',
		outcome: "runs",
		served: "fault",
	},
	{ id: "tools-15", title: "a pass whose reason is null", stdout: '{"verdict":"pass","reason":null}', outcome: "runs" },
	{ id: "tools-16", title: "a pass with a reason", stdout: '{"verdict":"pass","reason":"x"}', outcome: "fault" },
	{
		id: "tools-16",
		title: "a pass with an empty reason",
		stdout: '{"verdict":"pass","reason":""}',
		outcome: "fault",
	},
	{ id: "tools-18", title: "a refusal for no reason", stdout: '{"verdict":"refuse","reason":""}', outcome: "declined" },
	{ id: "tools-19", title: "a refusal without a reason", stdout: '{"verdict":"refuse"}', outcome: "fault" },
	{ id: "tools-20", title: "a hold without a reason", stdout: '{"verdict":"hold"}', outcome: "fault" },
	{
		id: "tools-21",
		title: "a hold whose reason is null",
		stdout: '{"verdict":"hold","reason":null}',
		outcome: "fault",
	},
	{ id: "tools-22", title: "another word", stdout: '{"verdict":"maybe"}', outcome: "fault", detail: NOT_A_VERDICT },
	{ id: "tools-23", title: "a capital letter", stdout: '{"verdict":"Pass"}', outcome: "fault", detail: NOT_A_VERDICT },
	{ id: "tools-25", title: "no verdict key", stdout: '{"reason":"x"}', outcome: "fault", detail: NOT_A_VERDICT },
	{ id: "tools-25", title: "an empty object", stdout: "{}", outcome: "fault", detail: NOT_A_VERDICT },
	{ id: "tools-26", title: "a reason that is a number", stdout: '{"verdict":"refuse","reason":5}', outcome: "fault" },
	{
		id: "tools-27",
		title: "a pass that rewrites the input",
		stdout: '{"verdict":"pass","rewrite":{"command":"ls"}}',
		outcome: "fault",
		detail: "rewrite",
	},
	{
		id: "tools-28",
		title: "the verdict twice",
		stdout: '{"verdict":"refuse","verdict":"pass","reason":"x"}',
		outcome: "fault",
	},
	{
		id: "tools-28",
		title: "the verdict twice, once with its key escaped",
		stdout: '{"verdict":"pass","verdi\\u0063t":"pass"}',
		outcome: "fault",
	},
	{ id: "tools-29", title: "nothing", stdout: "", outcome: "fault", detail: NOT_A_VERDICT },
	{ id: "tools-30", title: "no JSON", stdout: "not json", outcome: "fault", detail: `${NOT_A_VERDICT} (` },
	{ id: "tools-30", title: "half a verdict", stdout: '{"verdict":"pass"', outcome: "fault", detail: NOT_A_VERDICT },
	{
		id: "tools-32",
		title: "a pass with text behind it",
		stdout: '{"verdict":"pass"} trailing',
		outcome: "fault",
		detail: NOT_A_VERDICT,
	},
	{ id: "tools-32", title: "a pass with a NUL behind it", stdout: bytes('{"verdict":"pass"}', [0]), outcome: "fault" },
	{
		id: "tools-33",
		title: "a reason that is not UTF-8",
		stdout: bytes('{"verdict":"refuse","reason":"', [0xff, 0xc3, 0x28], '"}'),
		outcome: "fault",
	},
	{ id: "tools-34", title: "a list", stdout: '["pass"]', outcome: "fault", detail: NOT_A_VERDICT },
	{ id: "tools-34", title: "a text", stdout: '"pass"', outcome: "fault", detail: NOT_A_VERDICT },
	{ id: "tools-34", title: "null", stdout: "null", outcome: "fault", detail: NOT_A_VERDICT },
	{ id: "tools-35", title: "a pass on stderr", stdout: '{"verdict":"pass"}', onStderr: true, outcome: "fault" },
	{
		id: "tools-36",
		title: "a pass behind a byte order mark",
		stdout: bytes([0xef, 0xbb, 0xbf], '{"verdict":"pass"}'),
		outcome: "fault",
	},
];
