import { expect } from "vitest";
import { runCalls } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import type { Workspace } from "../support/workspace.ts";

const [HEAD, TAIL] = [100, 50];
const BOUND = { tool_output: { head_bytes: HEAD, tail_bytes: TAIL } };

const bash = (command: string) => [{ name: "bash", input: { command } }];
const flood = (bytes: number): string => `head -c ${bytes} /dev/zero | tr '\\0' x`;

interface Output {
	readonly stdout: string;
	readonly stdout_file?: string;
	readonly exit_code: number;
}

/** The record the model is pointed to, by the path it was given. */
const recordIn = (ws: Workspace, text: string): { readonly path: string; readonly output: Output } => {
	const path = /full record: (\S+) \.\.\.\]/.exec(text)?.[1] ?? "no path";
	return { path, output: JSON.parse(ws.read(`ws/${path}`)) as Output };
};

verifies("harness-I99", "a child that writes past the bound is read to its end and finishes its work", async () => {
	const size = 20_000_000;
	const { ws, ran, agent, results } = await runCalls(bash(`${flood(size)}; echo finished > after.txt`), {
		workflow: BOUND,
	});
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ws.git("show", `agents/${agent}:after.txt`)).toBe("finished\n");
	const text = results[0]?.text ?? "";
	expect(text).toContain(`stdout truncated: ${size} bytes / 1 lines total`);
	const { path, output } = recordIn(ws, text);
	expect(output.stdout_file).toBe("stdout");
	expect(ws.read(`ws/${path.replace("output.json", "stdout")}`)).toHaveLength(size);
});

for (const [name, last, code] of [
	["a command that exits", "exit 3", 3],
	["a command that is killed", "kill -9 $$", 137],
] as const)
	verifies(
		"harness-I100",
		`the long output of ${name} keeps both ends, exact counts and the whole on disk`,
		async () => {
			const whole = `${Array.from({ length: 400 }, (_, line) => `line ${line + 1}`).join("\n")}\n`;
			const { ws, ran, results } = await runCalls(bash(`for i in {1..400}; do echo "line $i"; done; ${last}`), {
				workflow: BOUND,
			});
			expect(ran, ran.stderr).toMatchObject({ code: 0 });
			const [{ text, isError } = { text: "", isError: false }] = results;
			const { path, output } = recordIn(ws, text);
			const marker =
				`[... stdout truncated: ${whole.length} bytes / 400 lines total; ` +
				`showing the first ${HEAD} and last ${TAIL} bytes; full record: ${path} ...]\n`;
			expect(text).toBe(`Exit code: ${code}\n${whole.slice(0, HEAD)}\n${marker}${whole.slice(-TAIL)}`);
			expect(isError).toBe(true);
			expect(output).toMatchObject({ stdout: whole, exit_code: code });
		},
	);

/** Prints bytes given in octal; the bound falls into the middle of what is repeated. */
const repeated = (octal: string): string => `printf 'a'; for i in {1..200}; do printf '${octal}'; done`;

for (const [name, command] of [
	["an emoji", repeated("\\360\\237\\230\\200")],
	["bytes that are no UTF-8", repeated("\\377\\376\\200")],
	["NUL", repeated("\\000\\303\\251")],
	["half of a surrogate pair", repeated("\\355\\240\\275")],
] as const)
	verifies("harness-I101", `a bound that cuts through ${name} gives valid text, and the run goes on`, async () => {
		const { ws, ran, agent, results } = await runCalls(bash(command), { workflow: BOUND });
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		const text = results[0]?.text ?? "";
		expect(text).toMatch(/^Exit code: 0\na/);
		expect(text).toContain("stdout truncated");
		expect(text.isWellFormed()).toBe(true);
		// Valid as bytes too, in the record and in the request that carries it.
		const strict = new TextDecoder("utf-8", { fatal: true });
		const request = ws.read(`ws/steps/${agent}/002/request.json`);
		for (const body of [request, ws.git("show", `agents/${agent}:messages/003-tool.json`)])
			expect(() => JSON.parse(strict.decode(Buffer.from(body)))).not.toThrow();
		expect(request).toContain(JSON.stringify(text).slice(1, -1));
	});
