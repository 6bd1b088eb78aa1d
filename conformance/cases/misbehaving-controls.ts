/** One way for a control to misbehave; each has the same outcome: the call is parked, nothing starts. */
export interface Misbehaviour {
	readonly id: string;
	readonly title: string;
	/** The file in the control's place, whole; absent where `instead` says what is there. */
	readonly script?: string;
	readonly instead?: "nothing" | "a directory" | "a named pipe" | "a file that may not be executed";
	/** Part of the fault's reason. */
	readonly detail: string;
	/** It does not answer: the deadline of the workflow is then one second. */
	readonly hangs?: true;
}

const sh = (body: string): string => `#!/bin/sh\ncat > /dev/null\n${body}\n`;
const says = (text: string): string => sh(`printf '%s' '${text}'`);
const PASS = '{"verdict":"pass"}';
const NOT_A_VERDICT = "stdout is not a verdict";

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
		script: "#!/no/such/interpreter\n",
		detail: "spawn control",
	},
	{ id: "ctl-misbehave-04", title: "it is a directory", instead: "a directory", detail: "spawn control" },
	{
		id: "ctl-misbehave-05",
		title: "it exits 1 after a valid pass",
		script: `${says(PASS)}exit 1\n`,
		detail: "exited 1",
	},
	{
		id: "ctl-misbehave-06",
		title: "it exits 3 and says why on stderr",
		script: sh("echo 'guardian down' >&2; exit 3"),
		detail: "exited 3; stderr: guardian down",
	},
	{
		id: "ctl-misbehave-07",
		title: "it passes and dies of SIGSEGV",
		script: sh(`printf '%s' '${PASS}'; ulimit -c 0; kill -SEGV $$`),
		detail: "terminated by signal 11",
	},
	{
		id: "ctl-misbehave-08",
		title: "it passes and kills itself with SIGKILL",
		script: sh(`printf '%s' '${PASS}'; kill -KILL $$`),
		detail: "terminated by signal 9",
	},
	{
		id: "ctl-misbehave-09",
		title: "it hangs past its deadline",
		script: sh("exec sleep 600"),
		detail: "no answer within 1 s",
		hangs: true,
	},
	{
		id: "ctl-misbehave-10",
		title: "it passes, then hangs with a child, both deaf to SIGTERM",
		script: sh(`trap '' TERM; printf '%s' '${PASS}'; sleep 600 & while :; do wait; done`),
		detail: "no answer within 1 s",
		hangs: true,
	},
	{
		id: "ctl-misbehave-11",
		title: "it writes a pass and 70 KiB of blanks",
		script: sh(`printf '%s%71680s' '${PASS}' ''`),
		detail: `${NOT_A_VERDICT} (longer than 65536 bytes)`,
	},
	{
		id: "ctl-misbehave-12",
		title: "it refuses for a reason over 16 KiB",
		script: sh(`printf '{"verdict":"refuse","reason":"'; head -c 16385 /dev/zero | tr '\\0' x; printf '"}'`),
		detail: `${NOT_A_VERDICT} (the reason is longer than 16384 bytes)`,
	},
	{ id: "ctl-misbehave-13", title: "it does not write JSON", script: says("pass"), detail: NOT_A_VERDICT },
	{ id: "ctl-misbehave-14", title: "it writes two documents", script: says(`${PASS}\n${PASS}`), detail: NOT_A_VERDICT },
	{
		id: "ctl-misbehave-15",
		title: "it writes a key twice",
		script: says('{"verdict":"hold","reason":"x","verdict":"pass","reason":null}'),
		detail: `${NOT_A_VERDICT} (the key "verdict" occurs twice)`,
	},
	{
		id: "ctl-misbehave-16",
		title: "it writes an unknown key",
		script: says('{"verdict":"pass","note":"fine by me"}'),
		detail: `${NOT_A_VERDICT} (unknown key "note")`,
	},
	{
		id: "ctl-misbehave-17",
		title: "it writes what is not UTF-8",
		script: sh(`printf '{"verdict":"hold","reason":"\\377"}'`),
		detail: `${NOT_A_VERDICT} (not UTF-8)`,
	},
	{
		id: "ctl-misbehave-18",
		title: "it writes a byte order mark before a pass",
		script: sh(`printf '\\357\\273\\277%s' '${PASS}'`),
		detail: NOT_A_VERDICT,
	},
	{
		id: "ctl-misbehave-19",
		title: "it writes its pass to stderr",
		script: sh(`printf '%s' '${PASS}' >&2`),
		detail: NOT_A_VERDICT,
	},
	{ id: "ctl-misbehave-20", title: "it writes a list", script: says(`[${PASS}]`), detail: NOT_A_VERDICT },
	{
		id: "ctl-misbehave-21",
		title: "it writes a value nested without end",
		script: sh(`printf '{"verdict":"pass","reason":'; head -c 60000 /dev/zero | tr '\\0' '['`),
		detail: NOT_A_VERDICT,
	},
	{
		id: "ctl-misbehave-22",
		title: "it passes with a reason",
		script: says('{"verdict":"pass","reason":"looks harmless"}'),
		detail: `${NOT_A_VERDICT} (a pass carries no reason)`,
	},
	{
		id: "ctl-misbehave-23",
		title: "it passes, closes its stdout and lives on",
		script: sh(`printf '%s' '${PASS}'; exec >&- 2>&-; exec sleep 600`),
		detail: "no answer within 1 s",
		hangs: true,
	},
	{
		id: "ctl-misbehave-24",
		title: "it is a named pipe that nobody writes to",
		instead: "a named pipe",
		detail: "spawn control",
	},
];
