import type { Installation } from "./installation.ts";

const BLOCK = 256;

/** Where an entry lies (DESIGN D23). */
const pathOf = (number: number, file: string): string => {
	const name = `${String(number).padStart(3, "0")}-${file}`;
	return number < BLOCK ? `messages/${name}` : `messages/${Math.floor(number / BLOCK) * BLOCK}/${name}`;
};

/** Text as `git fast-import` takes it. */
export const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;

interface Made {
	readonly file: string;
	readonly body: string;
}

const message = (number: number): Made => ({
	file: "user.md",
	body: `---\nfrom: user\ndeposited_at: 2026-01-01T00:00:00Z\ndeposit: ${String(number).padStart(16, "0")}\n---\nmessage ${number}`,
});

const call = (number: number): Made => {
	const use = { type: "tool_use", id: "call_1", name: "bash", input: { command: `sed -n ${number},+5p src/main.c` } };
	const content = [{ type: "text", text: `Now line ${number}.` }, use];
	return { file: "model-a.json", body: JSON.stringify({ content, usage: { input_tokens: 5 } }) };
};

const result = (number: number): Made => {
	const lines = Array.from({ length: 6 }, (_, at) => `${number}: line ${at} of the file\n`);
	const content = [{ type: "text", text: `Exit code: 0\n${lines.join("")}` }];
	const block = { type: "tool_result", tool_use_id: "call_1", content, is_error: false };
	return { file: "tool.json", body: JSON.stringify([block]) };
};

/**
 * Lengthens a transcript that ends in an answer to `length` entries: a message, calls and their results in turn, and a
 * message again, so that a model call is due. It is one commit, packed as a drive that comes to its rest packs.
 */
export const lengthen = ({ git }: Installation, agent: string, length: number): void => {
	const branch = `refs/heads/agents/${agent}`;
	const first = git("", "ls-tree", "-r", "--name-only", branch, "messages/").trimEnd().split("\n").length + 1;
	const trailers = git("", "log", "-1", "--format=%(trailers:key=Lernie-Role,key=Lernie-Config)", branch).trim();
	if ((length - first) % 2 === 0) throw new Error("the last message would come before a result");
	const files = Array.from({ length: length - first + 1 }, (_, at) => {
		const number = first + at;
		const isMessage = number === first || number === length;
		const { file, body } = isMessage ? message(number) : at % 2 === 1 ? call(number) : result(number);
		return `M 100644 inline ${pathOf(number, file)}\n${data(body)}`;
	});
	const subject = `transcript ${length}: user [${agent}]\n\n${trailers}\n`;
	const commit = `commit ${branch}\ncommitter bench <bench@localhost> 1767225600 +0000\n${data(subject)}from ${branch}^0\n`;
	git(`${commit}${files.join("")}done\n`, "fast-import", "--quiet", "--done");
	git("", "repack", "-a", "-d", "-f", "-q");
};
