import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { onTestFinished } from "vitest";
import { tableControl, tickTool } from "./controls.ts";
import { createPlace, type Place, processesNaming, type Ran, until } from "./place.ts";
import { createWorkspace, type Workspace, type WorkspaceOptions } from "./workspace.ts";

/** The calls of a window, in the order the model makes them; each names a tool of its own, so that runs can be told apart. */
export const CALLS = [
	{ id: "t1", name: "alpha", input: { n: 1 } },
	{ id: "t2", name: "beta", input: { n: 2 } },
	{ id: "t3", name: "gamma", input: { n: 3 } },
] as const;

const TOOLS = CALLS.map(({ name }) => name);

export const REFUSE = '{"verdict":"refuse","reason":"not on my watch"}';
export const HOLD = '{"verdict":"hold","reason":"ask first"}';

/** The three tools of `CALLS`: each adds its name to the ticks when it runs. */
const tickTools = (place: Place): void => {
	for (const name of TOOLS) tickTool(place, name);
};

/**
 * A workspace whose model makes the first `count` calls of `CALLS` in one message and then says "done". The control is
 * `tableControl`, which passes all but what `answers` say, or the one of `options`.
 */
export const createWindow = async (
	count: 1 | 2 | 3,
	answers: Readonly<Record<string, string>> = {},
	options: Partial<WorkspaceOptions> = {},
): Promise<Workspace> => {
	const place = options.place ?? createPlace();
	tickTools(place);
	return createWorkspace({
		script: { calls: [{ tools: CALLS.slice(0, count) }, { say: "done" }] },
		tools: TOOLS,
		...options,
		control: options.control ?? tableControl(place, answers),
		place,
	});
};

/** The calls with a record on disk, step by step: what may have started. */
export const recorded = (ws: Workspace, agent: string): readonly string[] => {
	const steps = ws.path("ws/steps", agent);
	if (!existsSync(steps)) return [];
	return readdirSync(steps)
		.sort()
		.flatMap((step) => {
			const tools = ws.path("ws/steps", agent, step, "tools");
			return existsSync(tools) ? readdirSync(tools).map((call) => `${step}/${call}`) : [];
		});
};

/** How many model calls were made, by their records. */
export const steps = (ws: Workspace, agent: string): number =>
	readdirSync(ws.path("ws/steps", agent)).filter((name) => /^\d+$/.test(name)).length;

/** The names of the transcript's files, in order. */
export const files = (ws: Workspace, agent: string): readonly string[] => ws.entries(agent).map(({ file }) => file);

/** Whether nobody holds the lease of an agent, asked of the kernel. */
export const leaseFree = (ws: Workspace, agent: string): boolean =>
	spawnSync("flock", ["-n", ws.path("ws/inbox", agent), "true"]).status === 0;

/** Holds an agent's lease as another driver would, until the test ends or `release` is called. */
export const holdLease = async (ws: Workspace, agent: string): Promise<() => Promise<void>> => {
	const holder: ChildProcess = spawn("flock", ["-x", ws.path("ws/inbox", agent), "cat"], {
		stdio: ["pipe", "ignore", "ignore"],
	});
	const ended = new Promise<void>((resolve) => holder.once("close", () => resolve()));
	const release = async (): Promise<void> => {
		holder.stdin?.end();
		await ended;
	};
	onTestFinished(release);
	await until("the lease is held", () => !leaseFree(ws, agent));
	return release;
};

/** Puts a message into an inbox without waking anybody. */
export const leaveMail = (ws: Workspace, agent: string, body: string): void => {
	const header = "from: user\ndeposited_at: 2026-01-01T00:00:00Z\ndeposit: 0123456789abcdef";
	ws.write(`ws/inbox/${agent}/user-001.md`, `---\n${header}\n---\n${body}`);
};

export const mailOf = (ws: Workspace, agent: string): readonly string[] =>
	readdirSync(ws.path("ws/inbox", agent)).filter((file) => file.endsWith(".md"));

/** Waits until nothing works in the place any more: a drive that was woken has ended. */
export const quiet = (place: Place): Promise<true> =>
	until("every process has ended", () => processesNaming(place.root).length === 0);

export interface Held {
	readonly agent: string;
	readonly tool_use_id: string;
	readonly tool: string;
	readonly reason: string;
	readonly kind: string;
	readonly digest: string;
	readonly input: unknown;
}

/** What `lernie held --json` lists. */
export const heldCalls = async (ws: Workspace): Promise<readonly Held[]> => {
	const ran = await ws.in(["held", "--json"]);
	return JSON.parse(ran.stdout) as Held[];
};

/** The state `lernie ls --json` shows for an agent. */
export const stateOf = async (ws: Workspace, agent: string): Promise<string | undefined> => {
	const ran = await ws.in(["ls", "--json"]);
	return (JSON.parse(ran.stdout) as { id: string; state: string }[]).find(({ id }) => id === agent)?.state;
};

/** Puts a mark's blob in place with git itself. */
export const setMark = (ws: Workspace, agent: string, blob: string): void => {
	const oid = ws.gitInput(blob, "hash-object", "-w", "--stdin").trim();
	ws.git("update-ref", `refs/lernie/held/${agent}`, oid);
};

export const markText = (id: string, entry = "002"): string =>
	JSON.stringify({
		tool_use_id: id,
		tool: "alpha",
		reason: "ask first",
		kind: "hold",
		digest: "",
		entry,
		since: "2026-01-01T00:00:00Z",
	});

/** The code of the fault that ended a verb run with `--json`. */
export const faultCode = (ran: Ran): string | undefined => {
	const last = ran.stdout.trimEnd().split("\n").at(-1) ?? "";
	return (JSON.parse(last) as { error?: { code: string } }).error?.code;
};

/** A drive that SIGKILLs itself at a crash site. */
export const crashAt = (site: string): { readonly env: Readonly<Record<string, string>> } => ({
	env: { LERNIE_CRASH_AT: site },
});

/** What a rest after a control fault looks like: nothing started, nothing answered, a mark that says so. */
export const faulted = (ws: Workspace, agent: string) => ({
	mark: ws.mark(agent),
	recorded: recorded(ws, agent),
	results: ws.results(agent),
});
