import { MULTI_TOOL } from "./multi-tool.ts";

/** What a model is told of a shipped tool: its input schema as JSON text, and its description. */
export interface ShippedDefinition {
	readonly schema: string;
	readonly description: string;
}

/** A draft-07 schema of an object whose keys are all required strings; nothing else is accepted. */
const stringsSchema = (properties: Readonly<Record<string, string>>): string =>
	JSON.stringify({
		$schema: "http://json-schema.org/draft-07/schema#",
		type: "object",
		properties: Object.fromEntries(
			Object.entries(properties).map(([key, description]) => [key, { type: "string", description }]),
		),
		required: Object.keys(properties),
		additionalProperties: false,
	});

const BASH = `Run a bash command line on the local machine. The result is its exit code, stdout and stderr.

- It is non-interactive: stdin is empty and there is no terminal (no TTY). A program that asks a question gets end of file, so answer in advance with flags (-y, --no-pager, -m "message") and do not open editors or pagers.
- It starts in your working directory. Nothing is kept between calls: each one is a new shell, so a cd, a variable or a function is gone in the next call. Join steps with && in one command; to move for good use the cd tool.
- A background process whose output goes to a file keeps running after the call, but no longer than until you have answered or are waiting for somebody. One that holds the call's stdout or stderr open is cut off from them two seconds after the shell ends.
- Long output is shortened in the middle, and the result says so. Narrow it with grep, head, tail or sed -n rather than printing whole files.
- Only files in your own directory are part of the record. Changes anywhere else are real but are not recorded and cannot be taken back from it.`;

const READ_FILE = `Read one file. The result is the file's exact bytes.

- A relative path starts at your working directory.
- Regular files of at most 1048576 bytes; a larger one fails and names its size: read a part of it with bash (sed -n, head -c, tail -c).
- A very long result is shortened in the middle, and says so.
- For the names in a directory use ls in bash.`;

const APPLY_PATCH = `Change text files by one patch: add, update, move and delete any number of them. All of it is applied or nothing. The result names each file and, for each hunk, the line it was found at.

*** Begin Patch
*** Add File: notes/new.txt
+every line of a new file begins with +
*** Update File: src/app.py
*** Move to: src/main.py
@@ class App:
@@     def run(self):
         setup()
-        start()
+        start(retries=3)
         wait()
*** Update File: README.md
@@
 the last line that is there
+one more at the end
*** End of File
*** Delete File: old.txt
*** End Patch

- The lines of a hunk begin with a blank (context, stays), - (goes) or + (comes), then the line itself with its whole indentation. There are no line numbers: the lines with a blank and with - are looked up in the file as it is now and must all be there, one behind the other.
- Give about three lines of context on each side. Where the same lines stand in several places the patch is refused: add context, or an anchor. @@ followed by the text of one whole line of the file moves on behind the first such line; several narrow it down, each below the one before. @@ alone begins another hunk.
- Hunks of a file go from top to bottom, none over another.
- A hunk that only adds lines needs an anchor (they come directly behind it) or *** End of File, which pins a hunk to the end.
- An empty line in an update is an empty line of context, so leave none between hunks or before the next ***. In an added file an empty line is a + alone.
- Add needs a path where nothing is; directories are made. Update and Delete take UTF-8 text files of at most 16 MiB; Delete also removes a link, the others do not touch one. A move goes directly behind its Update line, needs a hunk and a free destination.
- One operation a path. Every operation sees the files as they were before the patch.
- If the lines are there only with other white space, dashes or quotes they are found too; the result then has the real ones as "matched". Line endings and the file's mode stay.
- Paths are relative to the working directory or absolute.`;

const CD = `Change your working directory. It holds for this and every later call of every tool, unlike cd inside bash, which ends with its command.

- A relative path starts at the present working directory; links and .. are resolved, and the result names the absolute directory.
- The directory must exist.
- Only files in your own directory are part of the record. Work done in another one is real but is not recorded.`;

const MESSAGE = `Send a message to another agent of this workspace. It is deposited in that agent's inbox and wakes it; the call does not wait for an answer. An answer comes later, as a message to you.`;

const MULTI = `Make several tool calls in one. The result shows each of them in order, with a line that counts how many went well.

- Every invocation is judged and recorded as if it had been called alone, and only tools of your toolset can be named; multi_tool may not contain itself.
- "execution": "serial" (the default) runs them one after another, and a later one sees what an earlier one did. With "on_failure": "abort" (the default) those after the first that fails or is declined are skipped; with "run_all" all of them run.
- "execution": "parallel" runs them side by side: use it only for calls that do not depend on each other. Nothing is skipped then.
- An invocation that needs somebody's answer does not wait inside the batch: it is declined, and you call that tool again on its own.
- At most 100 invocations.`;

const MULTI_SCHEMA = JSON.stringify({
	$schema: "http://json-schema.org/draft-07/schema#",
	type: "object",
	properties: {
		invocations: {
			type: "array",
			description: "The calls, in order.",
			items: {
				type: "object",
				properties: {
					name: { type: "string", description: "Name of the tool." },
					input: { description: "The input that tool takes; {} where it is left out." },
				},
				required: ["name"],
				additionalProperties: false,
			},
		},
		on_failure: { type: "string", enum: ["abort", "run_all"] },
		execution: { type: "string", enum: ["serial", "parallel"] },
	},
	required: ["invocations"],
	additionalProperties: false,
});

/** The shipped definitions by tool name; the order is the one they are shown in. */
export const shippedTools: ReadonlyMap<string, ShippedDefinition> = new Map([
	[
		"bash",
		{
			schema: stringsSchema({ command: "The command line, given to bash -c as it is." }),
			description: BASH,
		},
	],
	[
		"read_file",
		{
			schema: stringsSchema({ path: "The file, absolute or relative to the working directory." }),
			description: READ_FILE,
		},
	],
	[
		"apply_patch",
		{
			schema: stringsSchema({ input: "The patch, from *** Begin Patch to *** End Patch." }),
			description: APPLY_PATCH,
		},
	],
	[
		"cd",
		{
			schema: stringsSchema({ path: "The directory, absolute or relative to the working directory." }),
			description: CD,
		},
	],
	[
		"message",
		{
			schema: stringsSchema({
				agent: "The agent's id, its name, or the first characters of its id.",
				content: "The text of the message.",
			}),
			description: MESSAGE,
		},
	],
	[MULTI_TOOL, { schema: MULTI_SCHEMA, description: MULTI }],
]);
