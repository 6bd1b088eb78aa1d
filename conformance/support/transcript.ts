import type { Workspace } from "./workspace.ts";

export interface Call {
	readonly id: string;
	readonly name: string;
	readonly input: Readonly<Record<string, unknown>>;
}

interface Answer {
	readonly id: string;
	readonly text: string;
	readonly isError: boolean;
}

/** One entry of a transcript with the commit that brought it. */
export interface Line {
	readonly number: number;
	readonly side: "user" | "assistant" | "tool";
	readonly commit: string;
	readonly parent: string;
	/** Trailers of the commit, by name; of one that occurs twice the last. */
	readonly trailers: Readonly<Record<string, string>>;
	/** Text of a message or of a model's answer. */
	readonly text: string;
	readonly calls: readonly Call[];
	readonly answers: readonly Answer[];
}

interface WireBlock {
	readonly type: string;
	readonly text?: string;
	readonly id?: string;
	readonly name?: string;
	readonly input?: Readonly<Record<string, unknown>>;
	readonly tool_use_id?: string;
	readonly is_error?: boolean;
	readonly content?: readonly { readonly text: string }[];
}

const textOf = (parts: readonly { readonly text?: string }[]): string => parts.map((part) => part.text ?? "").join("");

const blocksOf = (body: string): readonly WireBlock[] => {
	const read = JSON.parse(body) as readonly WireBlock[] | { readonly content: readonly WireBlock[] };
	return "content" in read ? read.content : read;
};

const bodyOf = (text: string): string => text.slice(text.indexOf("\n---\n") + 5);

const parseTrailers = (text: string): Record<string, string> =>
	Object.fromEntries(
		text
			.split("\n")
			.filter((line) => line.includes(": "))
			.map((line) => [line.slice(0, line.indexOf(": ")), line.slice(line.indexOf(": ") + 2)]),
	);

/** The bodies of objects in the order asked for, from one git. */
const readBlobs = (ws: Workspace, names: readonly string[]): readonly string[] => {
	let rest = Buffer.from(ws.gitInput(names.map((name) => `${name}\n`).join(""), "cat-file", "--batch"));
	return names.map(() => {
		const end = rest.indexOf("\n");
		const size = Number(rest.subarray(0, end).toString().split(" ")[2]);
		const body = rest.subarray(end + 1, end + 1 + size).toString();
		rest = rest.subarray(end + 1 + size + 1);
		return body;
	});
};

/** An agent's transcript as its commits made it: one entry a commit, oldest first. */
export const transcriptOf = (ws: Workspace, agent: string): readonly Line[] => {
	const range = [`agents/${agent}`, "--not", "--glob=refs/heads/config/*"];
	const commits = ws
		.git("log", "--reverse", "--format=%H%x1f%P%x1f%s%x1f%(trailers)%x1e", ...range)
		.split("\x1e")
		.map((record) => record.trimStart().split("\x1f") as [string, string, string, string])
		.filter(([, , subject]) => subject?.startsWith("transcript "));
	const files = new Map(
		ws
			.git("ls-tree", "-r", "--format=%(objectname) %(path)", `agents/${agent}`, "messages/")
			.split("\n")
			.filter((line) => line !== "")
			.map((line) => {
				const [oid = "", path = ""] = line.split(" ");
				const file = path.slice(path.lastIndexOf("/") + 1);
				return [Number.parseInt(file, 10), { oid, file }] as const;
			}),
	);
	const numbers = commits.map(([, , subject]) => Number.parseInt(subject.slice("transcript ".length), 10));
	if (files.size !== commits.length) throw new Error(`${commits.length} commits brought ${files.size} entries`);
	const bodies = readBlobs(
		ws,
		numbers.map((number) => files.get(number)?.oid ?? `entry ${number} is not at the tip`),
	);
	return commits.map(([commit, parent, , trailers], at) => {
		const number = numbers[at] ?? 0;
		const file = files.get(number)?.file ?? "";
		const side = file.endsWith(".md") ? "user" : file.endsWith("-tool.json") ? "tool" : "assistant";
		const body = bodies[at] ?? "";
		const blocks = side === "user" ? [] : blocksOf(body);
		return {
			number,
			side,
			commit,
			parent,
			trailers: parseTrailers(trailers),
			text: side === "user" ? bodyOf(body) : textOf(blocks.filter(({ type }) => type === "text")),
			calls: blocks.flatMap(({ type, id = "", name = "", input = {} }) =>
				type === "tool_use" ? [{ id, name, input }] : [],
			),
			answers: blocks.flatMap(({ type, tool_use_id: id = "", is_error: isError = false, content = [] }) =>
				type === "tool_result" ? [{ id, text: textOf(content), isError }] : [],
			),
		};
	});
};

/** Calls of the last assistant entry that have no result yet. */
export const openAt = (lines: readonly Line[]): readonly string[] => {
	const from = lines.findLastIndex(({ side }) => side === "assistant");
	const answered = lines.slice(from + 1).flatMap(({ answers }) => answers.map(({ id }) => id));
	return (lines[from]?.calls ?? []).map(({ id }) => id).filter((id) => !answered.includes(id));
};

/**
 * What is malformed in a history, the eight ways of `anchors/harness.md` §6: a call without a result or with two, a result
 * without a call or of another turn, calls of one id, something between a call and its result, results out of order, gaps.
 */
export const faultsOf = (lines: readonly Line[]): readonly string[] =>
	lines.flatMap((line, at) => {
		const before = lines.slice(0, at);
		const open = openAt(before);
		const place = `entry ${line.number} (${line.side})`;
		const ids = line.calls.map(({ id }) => id);
		return [
			...(line.number === at + 1 ? [] : [`${place}: is at place ${at + 1}`]),
			...(line.side === "tool" || open.length === 0 ? [] : [`${place}: comes before the results of ${open.join()}`]),
			...(new Set(ids).size === ids.length ? [] : [`${place}: repeats an id: ${ids.join()}`]),
			...(line.side === "tool" && line.answers.length === 0 ? [`${place}: answers nothing`] : []),
			...line.answers.flatMap(({ id }, nth) =>
				id === open[nth] ? [] : [`${place}: answers ${id} where ${open[nth] ?? "nothing"} is next`],
			),
		];
	});
