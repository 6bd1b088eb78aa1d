import { existsSync } from "node:fs";
import { join } from "node:path";
import { type ModelEvent, requestToJson } from "@lernie/contract";
import { expect, test } from "vitest";
import { verifies } from "../../../../conformance/support/verifies.ts";
import { faultOf } from "../config/fixture.ts";
import { REQUEST, withCall } from "./fixture.ts";
import type { StreamItem } from "./types.ts";

const begin: ModelEvent = { type: "message_start", v: 1 };
const end: ModelEvent = { type: "end" };
const say = (text: string): readonly ModelEvent[] => [
	{ type: "content_start", index: 0, kind: { text: {} } },
	{ type: "content_delta", index: 0, delta: { text_delta: text } },
	{ type: "content_stop", index: 0 },
];
const error = (kind: unknown, more: object = {}): ModelEvent =>
	({ type: "error", kind, message: "overloaded", ...more }) as ModelEvent;
const overloaded = error({ provider: { status: 529 } });
const good: readonly StreamItem[] = [begin, ...say("done"), { type: "finish", reason: "stop" }, end];

verifies(
	["tools-217", "tools-228"],
	"a failed attempt is made again with the same request, and nothing of it stays",
	() =>
		withCall(async ({ call, stub, slept, retries, contexts, requests, response, crossed, read }) => {
			const broken = [
				begin,
				...say("half"),
				{ type: "usage", input_tokens: 99, output_tokens: 9 } as const,
				overloaded,
				end,
			];
			const whole = [
				begin,
				{ type: "usage", input_tokens: 5 } as const,
				...say("done"),
				{ type: "usage", input_tokens: null, output_tokens: 2 } as const,
				{ type: "finish", reason: "stop" } as const,
				end,
			];
			const answer = await call(stub(broken, whole));
			expect(answer).toEqual({
				blocks: [{ type: "text", text: "done" }],
				usage: '{"input_tokens":5,"output_tokens":2}',
				unusable: {},
				finish: "stop",
			});
			expect(slept).toEqual([250]);
			expect(retries).toEqual([{ attempt: 1, delayMs: 250, error: "status 529: overloaded" }]);
			expect(contexts.map(({ attempt }) => attempt)).toEqual([1, 2]);
			expect(requests).toEqual([requestToJson(REQUEST), requestToJson(REQUEST)]);
			expect(response()).toEqual([...broken, ...whole].map((event) => JSON.stringify(event)));
			expect(read("stderr.log")).toBe("");
			expect(crossed).toEqual(["call.first-byte", "call.sealed"]);
		}),
);

verifies("tools-218", "a hint longer than the delay is waited for, one over ten minutes ends the call", () =>
	withCall(async ({ call, stub, slept }) => {
		await call(stub([error("transport", { retry_after_seconds: 7 }), end], good));
		expect(slept).toEqual([7000]);
		const fault = await faultOf(() => call(stub([error("transport", { retry_after_seconds: 601 }), end], good)));
		expect(fault.code).toBe("MODEL_FAILED");
		expect(fault.message).toContain("asks to wait 601 s");
		expect(slept).toEqual([7000]);
	}),
);

test.each([
	[{ provider: { status: 400 } }, "status 400: overloaded"],
	["config", "config: overloaded"],
	["a later kind", "a later kind: overloaded"],
	["auth", "`api_key_env`"],
])("after %j there is no other attempt, and the fault names it (case 219)", (kind, words) =>
	withCall(async ({ call, stub, contexts, crossed }) => {
		const fault = await faultOf(() => call(stub([error(kind), end], good)));
		expect(fault.code).toBe("MODEL_FAILED");
		expect(fault.message).toContain('"stub"');
		expect(fault.message).toContain(words);
		expect(contexts).toHaveLength(1);
		expect(crossed).toEqual(["call.first-byte"]);
	}),
);

test("when every attempt is used up the fault says how many there were", () =>
	withCall(async ({ call, stub, slept }) => {
		const attempt = [overloaded, end];
		const fault = await faultOf(() => call(stub(attempt, attempt, attempt, attempt, attempt, good)));
		expect(fault.message).toContain("after 5 attempts (status 529: overloaded)");
		expect(fault.data).toMatchObject({ row: "stub", status: 529, attempts: 5 });
		expect(slept).toEqual([250, 500, 1000, 2000]);
	}));

verifies("tools-221", "a stream without its end quotes the end of stderr and says where it is", () =>
	withCall(async ({ call, stub, contexts, directory, read }) => {
		const empty = await faultOf(() => call(stub([begin])));
		expect(empty.code).toBe("MODEL_HALF_STREAM");
		expect(empty.message).toContain(`(empty) (${directory}/stderr.log)`);
		async function* broken(): AsyncGenerator<StreamItem> {
			contexts.at(-1)?.log(`${"x".repeat(500)}\nlast\n`);
			yield begin;
		}
		const fault = await faultOf(() => call(stub(broken)));
		expect(fault.message).toMatch(/: …x{39,}.* \| last \(/);
		expect(read("stderr.log")).toHaveLength(506);
	}),
);

test.each<[string, StreamItem]>([
	["not JSON", "{nope"],
	["not an object with a type", "[1]"],
	["content_start needs an index and a kind", '{"type":"content_start","index":0}'],
	["finish needs a reason", '{"type":"finish"}'],
])("a malformed line ends the call (%s), the rest is recorded all the same (case 222)", (why, line) =>
	withCall(async ({ call, stub, response }) => {
		const fault = await faultOf(() => call(stub([begin, line, ...good])));
		expect(fault.code).toBe("MODEL_MALFORMED");
		expect(fault.message).toContain(why);
		expect(response()).toHaveLength(2 + good.length);
		expect(response()[1]).toBe(line);
	}),
);

test("lines after the end are recorded and mean nothing (case 222); blank ones and later events neither (case 226)", () =>
	withCall(async ({ call, stub, response, texts }) => {
		const before = ["", '{"type":"weather","mood":1}', '{"type":"content_start","index":5,"kind":{"aura":{}}}'];
		const after = [...say("late"), overloaded, "{nope"];
		const answer = await call(stub([begin, ...before, ...good.slice(1), ...after]));
		expect(answer.blocks).toEqual([{ type: "text", text: "done" }]);
		expect(texts).toEqual(["done"]);
		expect(response()).toHaveLength(good.length + before.length + after.length);
	}));

test.each<[readonly StreamItem[], string]>([
	[[{ type: "message_start", v: 2 }, ...good.slice(1)], "version 2"],
	[[{ type: "message_start", v: 2 }, ...good], "version 2"],
	[good.slice(1), "no message_start"],
	[['{"type":"message_start"}', ...good.slice(1)], "version undefined"],
])("another protocol is refused (case 224)", (items, found) =>
	withCall(async ({ call, stub, crossed }) => {
		const fault = await faultOf(() => call(stub(items)));
		expect(fault.code).toBe("MODEL_HANDSHAKE");
		expect(fault.message).toContain(found);
		expect(crossed).toEqual(["call.first-byte"]);
	}),
);

test("a refusal is an answer", () =>
	withCall(async ({ call, stub }) => {
		const answer = await call(stub([begin, ...say("no"), { type: "finish", reason: "refusal", category: "x" }, end]));
		expect(answer).toMatchObject({ finish: "refusal", blocks: [{ text: "no" }] });
	}));

verifies("tools-223", "a stop ends the backoff, and there is no further attempt", () =>
	withCall(async ({ call, stub, contexts }) => {
		const stopper = new AbortController();
		const reason = new Error("stopped");
		const effects = {
			crash: () => undefined,
			random: (bytes: number) => Buffer.alloc(bytes),
			sleep: () => new Promise<void>(() => stopper.abort(reason)),
		};
		await expect(call(stub([overloaded, end], good), { stop: stopper.signal, effects })).rejects.toBe(reason);
		expect(contexts).toHaveLength(1);
	}),
);

verifies("tools-221", "with the stop set, whatever came back is dropped, a fault as well", () =>
	withCall(async ({ call, stub }) => {
		const stopper = new AbortController();
		const reason = new Error("stopped");
		async function* late(): AsyncGenerator<StreamItem> {
			yield* good;
			stopper.abort(reason);
		}
		async function* broken(): AsyncGenerator<StreamItem> {
			yield begin;
			stopper.abort(reason);
			throw new Error("the adapter died");
		}
		await expect(call(stub(late), { stop: stopper.signal })).rejects.toBe(reason);
		await expect(call(stub(broken), { stop: stopper.signal })).rejects.toBe(reason);
	}),
);

test("a step directory that is not there is a fault before the adapter is asked", () =>
	withCall(async ({ call, stub, directory, contexts }) => {
		const fault = await faultOf(() => call(stub(good), { stepDirectory: join(directory, "none") }));
		expect(fault.code).toBe("DISK");
		expect(contexts).toEqual([]);
		expect(existsSync(join(directory, "none"))).toBe(false);
	}));
