import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { deposit, listDeposits, messageBody } from "./inbox.ts";
import { inboxDirectory, type Layout, layoutOf } from "./layout.ts";

let layout: Layout;
beforeEach(() => {
	layout = layoutOf(mkdtempSync(join(tmpdir(), "lernie-inbox-")));
});
afterEach(() => rmSync(layout.root, { recursive: true, force: true }));

let draw = 0;
const effects = {
	now: () => new Date(0),
	random: (bytes: number) => {
		draw += 1;
		return Buffer.alloc(bytes, draw);
	},
	crash: () => undefined,
};
const send = (sender: string, body: string): string => deposit(layout, { agent: "a", sender, body }, effects);

describe("deposits", () => {
	test("of one sender are numbered and none replaces another", () => {
		expect([send("user", "1"), send("user", "2"), send("b-1", "3")]).toEqual([
			"user-001.md",
			"user-002.md",
			"b-1-001.md",
		]);
		const inbox = inboxDirectory(layout, "a");
		expect(listDeposits(inbox).map(({ file, sender }) => [file, sender])).toEqual([
			["user-001.md", "user"],
			["user-002.md", "user"],
			["b-1-001.md", "b-1"],
		]);
	});

	test("of the same text differ in their bytes, and the body comes back whole", () => {
		const inbox = inboxDirectory(layout, "a");
		const [first, second] = [send("user", "x\n---\nfrom: nobody"), send("user", "x\n---\nfrom: nobody")].map((file) =>
			readFileSync(join(inbox, file), "utf8"),
		);
		expect(first).not.toBe(second);
		expect(messageBody(first ?? "")).toBe("x\n---\nfrom: nobody");
	});

	test("of one moment come in the order of each sender's numbers", () => {
		send("user", "1");
		const inbox = inboxDirectory(layout, "a");
		const files = ["b-1-002.md", "user-001.md", "user-998.md", "user-999.md", "user-1000.md", "user-1001.md"];
		for (const file of files.toReversed()) {
			writeFileSync(join(inbox, file), "");
			utimesSync(join(inbox, file), 1, 1);
		}
		expect(listDeposits(inbox).map(({ file }) => file)).toEqual(files);
	});

	test("ignore what nobody deposited", () => {
		send("user", "1");
		const inbox = inboxDirectory(layout, "a");
		for (const name of [".user-002.md", "notes.txt", "user-x.md", ".00ff.tmp"]) writeFileSync(join(inbox, name), "");
		expect(listDeposits(inbox)).toHaveLength(1);
	});
});

test("an inbox that is not there is empty", () => {
	expect(listDeposits(join(layout.root, "nowhere"))).toEqual([]);
});
