import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { callDigest, holdMarkToJson } from "@lernie/contract";
import { data } from "./history.ts";
import { createInstallation, type Installation, runAgent } from "./installation.ts";
import { median } from "./measure.ts";

export interface HeldFigures {
	/** `lernie held --json`. Median. */
	readonly jsonMs: number;
	/** `lernie held`, for people. Median. */
	readonly textMs: number;
	/** Processor time of `lernie held`. Median. */
	readonly processorMs: number;
	readonly processes: number;
}

interface Clone {
	readonly id: string;
	/** Its record as `git fast-import` takes it; prints the object of its mark. */
	readonly record: string;
}

const REASON = "ask first";
const ENTRY = "002";
const SINCE = "2026-01-01T00:00:00Z";

/** The agents that `lernie run` would have left had it been called so often: own goal, name, message, call and mark. */
const cloneOf = ({ git }: Installation, agent: string): ((number: number) => Clone) => {
	const read = (rev: string): string => git("", "rev-parse", rev).trim();
	const branch = `refs/heads/agents/${agent}`;
	const [config, soul, tools] = [`${branch}~3`, `${branch}:soul.md`, `${branch}:descriptions`].map(read);
	const facts = git("", "log", "-1", "--format=%(trailers:only)", branch)
		.split("\n")
		.filter((line) => /^Lernie-(Role|Config): /.test(line))
		.join("\n");
	return (number) => {
		const id = `20260101T000000Z-${number.toString(16).padStart(8, "0")}`;
		const commit = (subject: string, more = ""): string =>
			`commit refs/heads/agents/${id}\ncommitter bench <bench@localhost> 1767225600 +0000\n${data(`${subject} [${id}]\n\n${facts}\n`)}${more}`;
		const file = (path: string, body: string): string => `M 100644 inline ${path}\n${data(body)}`;
		const input = `{"command":"make step-${number}"}`;
		const call = { id: "call_1", name: "bash", input };
		const message = `---\nfrom: user\ndeposited_at: ${SINCE}\ndeposit: ${String(number).padStart(16, "0")}\n---\nbench`;
		const answer = `{"content":[{"type":"tool_use","id":"call_1","name":"bash","input":${input}}]}`;
		const digest = callDigest(call, { agent: id, role: "worker" });
		const mark = {
			tool_use_id: call.id,
			tool: call.name,
			reason: REASON,
			kind: "hold",
			digest,
			entry: ENTRY,
			since: SINCE,
		};
		const record = [
			commit("step 001: dispatch", `from ${config}\ndeleteall\n`),
			`M 100644 ${soul} soul.md\nM 040000 ${tools} descriptions\n`,
			file("goal.md", `bench ${number}`),
			file("name", `Bench${number}\n`),
			commit("transcript 001: user"),
			file("messages/001-user.md", message),
			commit(`transcript ${ENTRY}: model-a`),
			file(`messages/${ENTRY}-model-a.json`, answer),
			`blob\nmark :${number}\n${data(holdMarkToJson({ ...mark, kind: "hold" }))}get-mark :${number}\n`,
		];
		return { id, record: record.join("") };
	};
};

/** Makes `count` agents of which each holds a call, of one that `lernie run` made. */
const populate = (bench: Installation, count: number): void => {
	const { git, workspace } = bench;
	const clone = cloneOf(bench, runAgent(bench, 10));
	const clones = Array.from({ length: count - 1 }, (_, at) => clone(at + 1));
	const marks = git(`${clones.map(({ record }) => record).join("")}done\n`, "fast-import", "--quiet", "--done").split(
		"\n",
	);
	const refs = clones.map(({ id }, at) => `create refs/lernie/held/${id} ${marks[at]}\n`);
	git(refs.join(""), "update-ref", "--stdin");
	for (const { id } of clones)
		for (const room of ["inbox", "agents"]) mkdirSync(join(workspace, room, id), { recursive: true });
	// Driving one of them asks the control and parks it again, under the very mark it has.
	const { id = "" } = clones[0] ?? {};
	const { code, stderr } = bench.lernie("advance", id);
	const mark = git("", "rev-parse", `refs/lernie/held/${id}`).trim();
	if (code !== 10 || mark !== marks[0]) throw new Error(`lernie advance: exit code ${code}\n${stderr}`);
};

const timed = (work: () => void): number => {
	const from = performance.now();
	work();
	return performance.now() - from;
};

/** `lernie held` in a workspace of `count` agents that each hold a call (DESIGN §10). */
export const measureHeld = async (count: number, times = 7): Promise<HeldFigures> => {
	const bench = createInstallation({
		calls: [{ tools: [{ name: "bash", input: { command: "make" } }] }],
		control: `cat > /dev/null; echo '{"verdict":"hold","reason":"${REASON}"}'`,
	});
	try {
		populate(bench, count);
		const processes = bench.processes();
		const list = (...flags: readonly string[]): string => {
			const { code, stdout, stderr } = bench.lernie(...flags, "held");
			if (code !== 0) throw new Error(`lernie held: exit code ${code}\n${stderr}`);
			return stdout;
		};
		const found = (JSON.parse(list("--json")) as readonly unknown[]).length;
		const shown = list()
			.split("\n")
			.filter((line) => line.includes("HELD")).length;
		if (found !== count || shown !== count) throw new Error(`of ${count} held calls ${found} and ${shown} are listed`);
		const measure = (...flags: readonly string[]): number =>
			median(Array.from({ length: times }, () => timed(() => list(...flags))));
		return { jsonMs: measure("--json"), textMs: measure(), processorMs: bench.processorMs("held"), processes };
	} finally {
		await bench.close();
	}
};
