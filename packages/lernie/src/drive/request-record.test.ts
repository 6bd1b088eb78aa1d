import { type ModelRequest, requestToJson, sha256Hex, type WireMessage } from "@lernie/contract";
import { expect, test } from "vitest";
import { recordRequest } from "./request-record.ts";

const message = (text: string): WireMessage => ({ role: "user", content: [JSON.stringify({ type: "text", text })] });

const request = (messages: readonly WireMessage[]): ModelRequest => ({
	model: "m",
	system: "s",
	messages,
	tools: [],
	max_tokens: 1,
});

test("a small request is kept as it is", () => {
	const given = request([message("hi")]);
	expect(recordRequest(given, "c", 0, undefined).text).toBe(`${requestToJson(given)}\n`);
});

test("a large one is its digest and size, the same whether hashed at once or as it grew", () => {
	const all = Array.from({ length: 40 }, (_, index) => message("é".repeat(30_000) + index));
	let prefix: Parameters<typeof recordRequest>[3];
	for (const length of [1, 20, 21, 40]) {
		const given = request(all.slice(0, length));
		const recorded = recordRequest(given, "c", Math.max(0, length - 1), prefix);
		({ prefix } = recorded);
		if (length < 20) continue;
		const text = requestToJson(given);
		expect(JSON.parse(recorded.text)).toEqual({ commit: "c", sha256: sha256Hex(text), bytes: Buffer.byteLength(text) });
	}
	const other = { ...request(all), system: "another" };
	const text = requestToJson(other);
	expect(JSON.parse(recordRequest(other, "c", 39, prefix).text)).toMatchObject({ sha256: sha256Hex(text) });
});
