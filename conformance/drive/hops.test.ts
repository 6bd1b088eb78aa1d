import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const SCRIPT = {
	calls: [
		{ say: "one", tools: [{ name: "bash", input: { command: "echo a > a.txt" } }] },
		{
			tools: [
				{ name: "read_file", input: { path: "a.txt" } },
				{ name: "frobnicate", input: {} },
			],
		},
		{ say: "done" },
	],
};

/** Subjects, trees and texts of an agent's commits, oldest first, without ids, dates and the random line of a deposit. */
const history = (ws: Workspace, agent: string): readonly unknown[] => {
	const mask = (text: string): string =>
		text
			.replaceAll(agent, "<agent>")
			.replace(/^(deposited_at|deposit): .*$/gm, "$1: <masked>")
			.replace(/<agent>\S*/g, "<agent>");
	return ws
		.git("rev-list", "--reverse", `config/default..agents/${agent}`)
		.trim()
		.split("\n")
		.map((commit) => ({
			subject: mask(ws.git("show", "-s", "--format=%s", commit)),
			files: ws
				.git("ls-tree", "-r", "--name-only", commit)
				.trim()
				.split("\n")
				.filter((path) => path !== "name")
				.map((path) => [path, mask(ws.git("show", `${commit}:${path}`))]),
		}));
};

verifies("contract-hops", "a loop of single hops gives the same trees and subjects as one drive", async () => {
	const ws = await createWorkspace({ script: SCRIPT });
	const whole = await ws.run("hello");
	expect(whole, whole.stderr).toMatchObject({ code: 0 });
	// Founded, and killed before its first hop.
	const founded = await ws.in(["run", "hello"], { env: { LERNIE_CRASH_AT: "found.directory" } });
	expect(founded.signal).toBe("SIGKILL");
	const agents = JSON.parse((await ws.in(["--json", "ls"])).stdout) as { id: string; state: string }[];
	const other = agents.find(({ id }) => id !== whole.agent);
	if (other === undefined) throw new Error("the second agent was not founded");
	expect(other.state).toBe("pending");
	const states: string[] = [];
	while (states.at(-1) !== "done") {
		const hop = await ws.advance(other.id, { flags: ["--hop", "--json"] });
		expect(hop, hop.stderr).toMatchObject({ code: 0 });
		const end = JSON.parse(hop.stdout.trim().split("\n").at(-1) ?? "") as { state: string };
		states.push(end.state);
		if (states.length > 5) throw new Error(`it does not come to an end: ${states.join(", ")}`);
	}
	expect(states).toEqual(["pending", "pending", "done"]);
	expect(history(ws, other.id)).toEqual(history(ws, whole.agent));
});
