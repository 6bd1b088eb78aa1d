#!/usr/bin/env node
// A tool control in TypeScript, for the modes once and serve; Node 22.18 and newer run it as it is.
//
// It passes reads below the agent's directory, refuses other reads, and holds every other call until somebody makes this
// file answer otherwise. It looks at paths as they are written and does not follow links.
import { readFileSync } from "node:fs";

interface Request {
	readonly id: string;
	readonly name: string;
	readonly input: Readonly<Record<string, unknown>>;
	readonly role: string;
	readonly agent_id: string;
}

type Verdict = { readonly verdict: "pass" } | { readonly verdict: "refuse" | "hold"; readonly reason: string };

/** The request in these bytes. Whatever is none throws: no verdict, and an exit code that is not 0. */
const read = (bytes: Uint8Array): Request => {
	const request: Request = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
	const { id, name, input, role, agent_id } = request;
	const texts = [id, name, role, agent_id].every((text) => typeof text === "string");
	if (!texts || typeof input !== "object" || input === null || Array.isArray(input)) throw new Error("not a request");
	return request;
};

const below = (path: unknown): boolean =>
	typeof path === "string" && !path.startsWith("/") && !path.split("/").includes("..");

const judge = ({ name, input }: Request): Verdict => {
	if (name === "read_file" || name === "cd")
		return below(input.path) ? { verdict: "pass" } : { verdict: "refuse", reason: "stay below your own directory" };
	return { verdict: "hold", reason: "a person has to look at this call" };
};

const say = (answer: Verdict & { readonly id?: string }): boolean =>
	process.stdout.write(`${JSON.stringify(answer)}\n`);

if (process.argv[2] === "serve") {
	// Not `readline`: it also ends a line at characters that JSON strings may hold.
	let rest = Buffer.alloc(0);
	for await (const chunk of process.stdin) {
		rest = Buffer.concat([rest, chunk]);
		for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n")) {
			const request = read(rest.subarray(0, end));
			rest = rest.subarray(end + 1);
			say({ ...judge(request), id: request.id });
		}
	}
} else say(judge(read(readFileSync(0))));
