import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { withFixture } from "./fixture.ts";
import { packLoose } from "./pack.ts";

const packs = (gitDir: string): readonly string[] =>
	readdirSync(join(gitDir, "objects/pack")).filter((name) => name.endsWith(".pack"));

test(
	"few loose objects are left alone; many are packed and stay readable, and nothing is lost",
	() =>
		withFixture(async (fixture) => {
			const { gitDir, repo, git } = fixture;
			const files = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`f${at}`, `content ${at}`]));
			const commit = await fixture.commit("one", files);
			const batch = repo.batch();
			const [marked, unreachable] = [batch.blob("a mark"), batch.blob("nobody's")];
			await batch.flush();
			const mark = { kind: "create", ref: "refs/lernie/held/x", oid: marked } as const;
			const branch = { kind: "set", ref: "refs/heads/agents/x", oid: commit } as const;
			expect(await repo.transact([mark, branch])).toEqual({ ok: true });
			expect(await packLoose(gitDir)).toBe(false);
			expect(packs(gitDir)).toEqual([]);
			expect(await packLoose(gitDir, 64)).toBe(true);
			expect(packs(gitDir)).toHaveLength(1);
			expect(git("count-objects", "-v")).toContain("count: 1\n");
			git("fsck", "--strict");
			// The reader that was open all the time, and knows of no pack, finds them too.
			expect((await repo.blob((await repo.find(commit, "f7"))?.oid ?? "")).toString()).toBe("content 7");
			for (const [oid, text] of [[marked, "a mark"] as const, [unreachable, "nobody's"] as const])
				expect((await repo.blob(oid)).toString()).toBe(text);
			expect(await packLoose(gitDir, 64)).toBe(false);
		}),
	30_000,
);

test(
	"of two that pack at once one does it",
	() =>
		withFixture(async (fixture) => {
			const { gitDir, git, repo } = fixture;
			const files = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`f${at}`, `content ${at}`]));
			const oid = await fixture.commit("one", files);
			await repo.transact([{ kind: "set", ref: "refs/heads/agents/x", oid }]);
			const done = await Promise.all([packLoose(gitDir, 64), packLoose(gitDir, 64)]);
			expect(done.sort()).toEqual([false, true]);
			expect(packs(gitDir)).toHaveLength(1);
			git("fsck", "--strict");
		}),
	30_000,
);
