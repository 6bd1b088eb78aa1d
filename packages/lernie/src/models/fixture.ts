import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ModelRequest, requestToJson } from "@lernie/contract";
import { callModel, type ModelCall } from "./call.ts";
import type { Folded } from "./fold.ts";
import type { AttemptContext, ModelAdapter, StreamItem } from "./types.ts";

export const REQUEST: ModelRequest = { model: "m", system: "s", messages: [], tools: [], max_tokens: 9 };

/** For tests: one call with everything about it observed. */
export interface CallFixture {
	readonly directory: string;
	readonly slept: number[];
	readonly crossed: string[];
	readonly texts: string[];
	readonly retries: unknown[];
	readonly contexts: AttemptContext[];
	/** The bytes of the request at each attempt. */
	readonly requests: string[];
	/** Plays each list as one attempt; a function is asked for it. */
	stub(...attempts: readonly (readonly StreamItem[] | (() => AsyncIterable<StreamItem>))[]): ModelAdapter;
	call(adapter: ModelAdapter, more?: Partial<ModelCall>): Promise<Folded>;
	response(): readonly string[];
	read(name: string): string;
}

async function* each(items: readonly StreamItem[]): AsyncGenerator<StreamItem> {
	yield* items;
}

export const withCall = async (act: (fixture: CallFixture) => Promise<void>): Promise<void> => {
	const directory = mkdtempSync(join(tmpdir(), "lernie-model-"));
	const read = (name: string): string => readFileSync(join(directory, name), "utf8");
	const fixture: CallFixture = {
		directory,
		slept: [],
		crossed: [],
		texts: [],
		retries: [],
		contexts: [],
		requests: [],
		stub: (...attempts) => ({
			row: "stub",
			check: async () => undefined,
			attempt(request, context) {
				fixture.requests.push(requestToJson(request));
				fixture.contexts.push(context);
				const next = attempts[context.attempt - 1] ?? [];
				return typeof next === "function" ? next() : each(next);
			},
		}),
		call: (adapter, more = {}) =>
			callModel({
				adapter,
				request: REQUEST,
				stepDirectory: directory,
				retry: { maxAttempts: 5, baseMs: 250, capMs: 60_000, jitter: 0 },
				effects: {
					crash: (site) => fixture.crossed.push(site),
					random: (bytes) => Buffer.alloc(bytes, 0x80),
					sleep: async (ms) => {
						fixture.slept.push(ms);
					},
				},
				context: { assistantEntries: 0, newest: {} },
				onText: (text) => fixture.texts.push(text),
				onRetry: (retry) => fixture.retries.push(retry),
				...more,
			}),
		response: () => read("response.json").split("\n").slice(0, -1),
		read,
	};
	try {
		await act(fixture);
	} finally {
		rmSync(directory, { recursive: true, force: true });
	}
};
