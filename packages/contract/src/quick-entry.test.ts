import fc from "fast-check";
import { expect, test } from "vitest";
import { quickEntry } from "./quick-entry.ts";
import { readEntry } from "./read-entry.ts";

const FIELDS = ["type", "text", "id", "name", "input", "signature", "tool_use_id", "content", "is_error", "__proto__"];

const field = (key: string): fc.Arbitrary<unknown> => {
	const common = [fc.jsonValue({ maxDepth: 2 }), fc.string(), fc.boolean()];
	if (key === "type") return fc.oneof(fc.constantFrom("text", "tool_use", "tool_result", "thinking"), ...common);
	if (key === "content")
		return fc.oneof(fc.array(fc.record({ type: fc.constant("text"), text: fc.string() })), ...common);
	return fc.oneof(...common);
};

/** Text of an object with some of the keys, in any order, each at most once. */
const object = (keys: readonly string[], of: (key: string) => fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
	fc
		.shuffledSubarray([...keys])
		.chain((chosen) => fc.tuple(...chosen.map((key) => of(key).map((value) => `"${key}":${JSON.stringify(value)}`))))
		.map((members) => `{${members.join(",")}}`);

const blocks = fc.array(fc.oneof(object(FIELDS, field), fc.json())).map((items) => `[${items.join(",")}]`);

const entry = fc.oneof(
	blocks,
	fc
		.tuple(
			blocks,
			fc.json(),
			fc.oneof(
				fc.json(),
				fc.dictionary(fc.string(), fc.string()).map((map) => JSON.stringify(map)),
			),
		)
		.map(([content, usage, unusable]) => `{"content":${content},"usage":${usage},"unusable":${unusable}}`),
);

test("an entry that is read quickly is read as it is otherwise", () => {
	let quick = 0;
	fc.assert(
		fc.property(entry, (text) => {
			const read = quickEntry(text);
			if (read === undefined) return;
			quick += 1;
			// A blank behind it is not what JSON.stringify prints.
			expect(quickEntry(`${text} `)).toBeUndefined();
			expect(read).toEqual(readEntry(`${text} `, "x"));
		}),
		{ numRuns: 500 },
	);
	expect(quick).toBeGreaterThan(50);
}, 30_000);

test.each([
	'[{"type":"tool_use","id":"t","name":"n","input":{"a":1.0}}]',
	'[{"type":"tool_use","id":"t","name":"n","input":{"a":9007199254740993}}]',
	'[{"type":"tool_use","id":"t","name":"n","input":{"b":1,"1":2}}]',
	'[{"type":"tool_use","id":"t","name":"n","input":{"a":1,"a":2}}]',
	'[{"type":"tool_use","id":"t","name":"n","input":{"a":"\\u00e9"}}]',
	`[${"[".repeat(600)}${"]".repeat(600)}]`,
	'{"content":null}',
	"nope",
])("%j is not read quickly", (text) => expect(quickEntry(text)).toBeUndefined());
