import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { initRepo, openRepo } from "../git/repo.ts";
import { addEntry, entryName, listEntries, listRuns } from "./transcript.ts";

test("names carry the number, the origin and the side", () => {
	expect(entryName(1, "user", "user")).toBe("001-user.md");
	expect(entryName(12, "tool", "tool")).toBe("012-tool.json");
	expect(entryName(1024, "assistant", "org/model:1")).toBe("1024-org%2Fmodel%3A1.json");
});

test("entries are flat up to 255 and lie in blocks of 256 after that, in order", async () => {
	const root = mkdtempSync(join(tmpdir(), "lernie-transcript-"));
	const gitDir = join(root, "repo.git");
	await initRepo(gitDir);
	const repo = openRepo(gitDir);
	try {
		const batch = repo.batch();
		let messages: string | undefined;
		for (let number = 1; number <= 530; number += 1) {
			const blob = batch.blob(`entry ${number}`);
			messages = await addEntry(repo, batch, messages, { number, name: entryName(number, "user", "user"), blob });
			await batch.flush();
		}
		if (messages === undefined) throw new Error("no tree");
		const tree = batch.tree([{ mode: "40000", name: Buffer.from("messages"), oid: messages }]);
		const tip = batch.commit({ tree, parents: [], message: "x\n", at: new Date(0) });
		await batch.flush();
		expect((await listEntries(repo, tip)).map((entry) => entry.number)).toEqual(
			Array.from({ length: 530 }, (_, i) => i + 1),
		);
		const runs = await Promise.all((await listRuns(repo, tip)).map((run) => run.entries()));
		expect(runs.map((entries) => entries.length)).toEqual([255, 256, 19]);
		const names = (await repo.tree(messages))
			.map((entry) => entry.name.toString())
			.filter((name) => !name.includes("-"));
		expect(names).toEqual(["256", "512"]);
	} finally {
		await repo.close();
		rmSync(root, { recursive: true, force: true });
	}
}, 30_000);
