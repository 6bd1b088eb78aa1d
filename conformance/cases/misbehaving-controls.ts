import type { Mode } from "../support/controls.ts";

/** What the answers of one mode are made of: mode `serve` wants the id in them. */
interface Said {
	readonly pass: string;
	/** To be put behind the last key of an answer. */
	readonly id: string;
}

/** One way for a control to misbehave; each has the same outcome: the call is parked, nothing starts. */
export interface Misbehaviour {
	readonly id: string;
	readonly title: string;
	/** What it does once it was asked, in shell; absent where `file` or `instead` says what is in its place. */
	readonly asked?: (said: Said) => string;
	/** The file in the control's place, whole. */
	readonly file?: string;
	readonly instead?: "nothing" | "a directory" | "a named pipe" | "a file that may not be executed";
	/** Part of the fault's reason. */
	readonly detail: string | Readonly<Record<Mode, string>>;
	/** The modes in which it does not answer: the deadline of the workflow is then `HANG_SECONDS`. */
	readonly hangs?: readonly Mode[];
	/** The modes in which it can be; both where absent. */
	readonly modes?: readonly Mode[];
}

export const HANG_SECONDS = 2;

const SAID: Readonly<Record<Mode, Said>> = {
	once: { pass: '{"verdict":"pass"}', id: "" },
	serve: { pass: '{"verdict":"pass","id":"t1"}', id: ',"id":"t1"' },
};

/** A shell script that is asked in one of the modes, by whole stdin or by line, and then does `body`. */
const asked = (mode: Mode, body: string): string =>
	mode === "once"
		? `#!/bin/sh\ncat > /dev/null\n${body}\n`
		: `#!/bin/sh\nwhile IFS= read -r request; do\n${body}\ndone\n`;

/** The file of a misbehaving control; undefined where there is none to write. */
export const controlFile = (one: Misbehaviour, mode: Mode): string | undefined =>
	one.asked === undefined ? one.file : asked(mode, one.asked(SAID[mode]));

/** The file of a control that answers `verdict`, one without a reason or with one. */
export const wellBehaved = (verdict: string, mode: Mode): string =>
	asked(mode, says(`${verdict.slice(0, -1)}${SAID[mode].id}}`));

export const detailOf = ({ detail }: Misbehaviour, mode: Mode): string =>
	typeof detail === "string" ? detail : detail[mode];

/** Writes lines in one go; a shell's own printf may write line by line. */
const says = (text: string): string => `cat <<'END'\n${text}\nEND`;
const NOT_A_VERDICT = "stdout is not a verdict";
const NO_ANSWER = `no answer within ${HANG_SECONDS} s`;
const BOTH = ["once", "serve"] as const;

export const misbehaviours: readonly Misbehaviour[] = [
	{ id: "ctl-misbehave-01", title: "it is not there", instead: "nothing", detail: "spawn control" },
	{
		id: "ctl-misbehave-02",
		title: "it may not be executed",
		instead: "a file that may not be executed",
		detail: "spawn control",
	},
	{
		id: "ctl-misbehave-03",
		title: "its interpreter is not there",
		file: "#!/no/such/interpreter\n",
		detail: "spawn control",
	},
	{ id: "ctl-misbehave-04", title: "it is a directory", instead: "a directory", detail: "spawn control" },
	{
		id: "ctl-misbehave-05",
		title: "it exits 1 after it wrote a pass",
		asked: ({ pass }) => `printf '%s' '${pass}'; exit 1`,
		detail: "exited 1",
	},
	{
		id: "ctl-misbehave-06",
		title: "it exits 3 and says why on stderr",
		asked: () => "echo 'guardian down' >&2; exit 3",
		detail: "exited 3; stderr: guardian down",
	},
	{
		id: "ctl-misbehave-07",
		title: "it passes and dies of SIGSEGV",
		asked: ({ pass }) => `printf '%s' '${pass}'; ulimit -c 0; kill -SEGV $$`,
		detail: "terminated by signal 11",
	},
	{
		id: "ctl-misbehave-08",
		title: "it passes and kills itself with SIGKILL",
		asked: ({ pass }) => `printf '%s' '${pass}'; kill -KILL $$`,
		detail: "terminated by signal 9",
	},
	{
		id: "ctl-misbehave-09",
		title: "it hangs past its deadline",
		asked: () => "exec sleep 600",
		detail: NO_ANSWER,
		hangs: BOTH,
	},
	{
		id: "ctl-misbehave-10",
		title: "it passes, then hangs with a child, both deaf to SIGTERM",
		asked: ({ pass }) => `trap '' TERM; printf '%s' '${pass}'; sleep 600 & while :; do wait; done`,
		detail: NO_ANSWER,
		hangs: BOTH,
	},
	{
		id: "ctl-misbehave-11",
		title: "it writes a pass and 70 KiB of blanks",
		asked: ({ pass }) => `printf '%s%71680s' '${pass}' ''`,
		detail: `${NOT_A_VERDICT} (longer than 65536 bytes)`,
	},
	{
		id: "ctl-misbehave-12",
		title: "it refuses for a reason over 16 KiB",
		asked: ({ id }) =>
			`printf '{"verdict":"refuse","reason":"'; head -c 16385 /dev/zero | tr '\\0' x; printf '"${id}}\\n'`,
		detail: `${NOT_A_VERDICT} (the reason is longer than 16384 bytes)`,
	},
	{ id: "ctl-misbehave-13", title: "it does not write JSON", asked: () => says("pass"), detail: NOT_A_VERDICT },
	{
		id: "ctl-misbehave-14",
		title: "it writes two documents",
		asked: ({ pass }) => says(`${pass}\n${pass}`),
		detail: { once: NOT_A_VERDICT, serve: "it wrote while nothing was asked" },
	},
	{
		id: "ctl-misbehave-15",
		title: "it writes a key twice",
		asked: ({ id }) => says(`{"verdict":"hold","reason":"x","verdict":"pass","reason":null${id}}`),
		detail: `${NOT_A_VERDICT} (the key "verdict" occurs twice)`,
	},
	{
		id: "ctl-misbehave-16",
		title: "it writes an unknown key",
		asked: ({ id }) => says(`{"verdict":"pass","note":"fine by me"${id}}`),
		detail: `${NOT_A_VERDICT} (unknown key "note")`,
	},
	{
		id: "ctl-misbehave-17",
		title: "it writes what is not UTF-8",
		asked: ({ id }) => `printf '{"verdict":"hold","reason":"\\377"${id}}\\n'`,
		detail: `${NOT_A_VERDICT} (not UTF-8)`,
	},
	{
		id: "ctl-misbehave-18",
		title: "it writes a byte order mark before a pass",
		asked: ({ pass }) => `printf '\\357\\273\\277%s\\n' '${pass}'`,
		detail: NOT_A_VERDICT,
	},
	{
		id: "ctl-misbehave-19",
		title: "it writes its pass to stderr",
		asked: ({ pass }) => `printf '%s\\n' '${pass}' >&2`,
		detail: { once: NOT_A_VERDICT, serve: NO_ANSWER },
		hangs: ["serve"],
	},
	{
		id: "ctl-misbehave-20",
		title: "it writes a list",
		asked: ({ pass }) => says(`[${pass}]`),
		detail: NOT_A_VERDICT,
	},
	{
		id: "ctl-misbehave-21",
		title: "it writes a value nested without end",
		asked: () => `printf '{"verdict":"pass","reason":'; head -c 60000 /dev/zero | tr '\\0' '['; echo`,
		detail: NOT_A_VERDICT,
	},
	{
		id: "ctl-misbehave-22",
		title: "it passes with a reason",
		asked: ({ id }) => says(`{"verdict":"pass","reason":"looks harmless"${id}}`),
		detail: `${NOT_A_VERDICT} (a pass carries no reason)`,
	},
	{
		id: "ctl-misbehave-23",
		title: "it passes, closes its stdout and lives on",
		asked: ({ pass }) => `printf '%s' '${pass}'; exec >&- 2>&-; exec sleep 600`,
		detail: { once: NO_ANSWER, serve: "it closed its stdout while it was asked" },
		hangs: ["once"],
	},
	{
		id: "ctl-misbehave-24",
		title: "it is a named pipe that nobody writes to",
		instead: "a named pipe",
		detail: "spawn control",
	},
	{
		id: "control-serve-id-missing",
		title: "its line carries no id",
		asked: () => says(SAID.once.pass),
		detail: `${NOT_A_VERDICT} (no id)`,
		modes: ["serve"],
	},
	{
		id: "control-serve-id-other",
		title: "its line carries another id",
		asked: () => says('{"verdict":"pass","id":"t2"}'),
		detail: `${NOT_A_VERDICT} (the id is not "t1")`,
		modes: ["serve"],
	},
	{
		id: "control-serve-id-once",
		title: "it puts the id into an answer of mode once",
		asked: () => says(SAID.serve.pass),
		detail: `${NOT_A_VERDICT} (unknown key "id")`,
		modes: ["once"],
	},
	{
		id: "control-serve-greeting",
		title: "it greets when it is started",
		file: `#!/bin/sh\necho ready\nwhile IFS= read -r request; do echo '${SAID.serve.pass}'; done\n`,
		// It depends on who is quicker whether this is no verdict or was written before anything was asked.
		detail: ": ready",
		modes: ["serve"],
	},
	{
		id: "control-serve-extra-line",
		title: "it writes an empty line behind each answer",
		asked: ({ pass }) => says(`${pass}\n`),
		detail: "it wrote while nothing was asked",
		modes: ["serve"],
	},
	{
		id: "control-serve-half-line",
		title: "it writes an answer without a newline and stays",
		asked: ({ pass }) => `printf '%s' '${pass}'; exec sleep 600`,
		detail: NO_ANSWER,
		hangs: ["serve"],
		modes: ["serve"],
	},
	{
		id: "control-serve-exit",
		title: "it exits 0 instead of answering",
		asked: () => "exit 0",
		detail: "exited 0",
		modes: ["serve"],
	},
	{
		id: "control-serve-once-control",
		title: "it is made for mode once: it waits for the end of its stdin",
		file: `#!/bin/sh\ncat > /dev/null\necho '${SAID.once.pass}'\n`,
		detail: NO_ANSWER,
		hangs: ["serve"],
		modes: ["serve"],
	},
];
