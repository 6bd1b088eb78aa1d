import type { Workspace } from "./workspace.ts";

const BLOCK = 256;

/** Where an entry lies (DESIGN D23). */
const pathOf = (number: number, file: string): string => {
	const name = `${String(number).padStart(3, "0")}-${file}`;
	return number < BLOCK ? `messages/${name}` : `messages/${Math.floor(number / BLOCK) * BLOCK}/${name}`;
};

const data = (text: string): string => `data ${Buffer.byteLength(text)}\n${text}\n`;

/**
 * Lengthens an agent's transcript to `length` entries, message and answer in turn, in one commit that `git fast-import`
 * writes at once. It ends with a message, so that a model call is due.
 */
export const lengthen = (ws: Workspace, agent: string, length: number): void => {
	const branch = `refs/heads/agents/${agent}`;
	const first = ws.entries(agent).length + 1;
	const trailers = ws.git("log", "-1", "--format=%(trailers:key=Lernie-Role,key=Lernie-Config)", branch).trim();
	const files = Array.from({ length: length - first + 1 }, (_, at) => {
		const number = first + at;
		const message = (length - number) % 2 === 0;
		const text = `---\nfrom: user\ndeposited_at: 2026-01-01T00:00:00Z\n---\nmessage ${number}`;
		const answer = JSON.stringify([{ type: "text", text: `answer ${number}` }]);
		const path = pathOf(number, message ? "user.md" : "model-a.json");
		return `M 100644 inline ${path}\n${data(message ? text : answer)}`;
	});
	const subject = `transcript ${length}: user [${agent}]\n\n${trailers}\n`;
	const commit = `commit ${branch}\ncommitter test <test@localhost> 1767225600 +0000\n${data(subject)}from ${branch}^0\n`;
	ws.gitInput(`${commit}${files.join("")}done\n`, "fast-import", "--quiet", "--done");
};
