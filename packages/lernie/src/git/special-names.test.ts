import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { hashObject, objectHeader } from "./codec.ts";
import { gitEnvironment } from "./command.ts";
import { withFixture } from "./fixture.ts";
import { moveIn, stage } from "./loose.ts";
import { isDotGit, specialName } from "./special-names.ts";

const WORDS = [
	".git",
	"git~1",
	".gitmodules",
	".gitattributes",
	"gitmod~1",
	"GI7EBA~1",
	"gi7d29~4",
	"gitatt~2",
	"GI7E~123",
];
const LETTERS = [
	"x",
	"g",
	".",
	" ",
	":",
	"\\",
	"~",
	"1",
	"I",
	"\xe2\x80\x8c",
	"\xe2\x81\xaf",
	"\xef\xbb\xbf",
	"\xff",
	"\xc3\xa9",
];
const ODD = ["\xe2\x80", "\xed\xa0\x80", "\xef\xbf\xbe", "\xf0\x9f\x98\x80", "\xc2\x80\x8c", "\xe0\x80\x80"];

/** Numbers below `bound` that look random and are the same in each run. */
const createDice = (): ((bound: number) => number) => {
	let state = 7;
	return (bound) => {
		state = (Math.imul(state, 1103515245) + 12345) >>> 0;
		return (state >>> 12) % bound;
	};
};

/** Special words with a few characters put in, taken out or in another case. */
const createNames = (count: number): string[] => {
	const dice = createDice();
	const pick = (from: readonly string[]): string => from[dice(from.length)] ?? "";
	const mutate = (text: string): string => {
		const at = dice(text.length + 1);
		const kinds = [
			() => text.slice(0, at) + pick([...LETTERS, ...ODD]) + text.slice(at),
			() => text + pick([...LETTERS, ...ODD]),
			() => text.slice(0, at) + text.slice(at + 1),
			() => text.slice(0, at) + text.slice(at).toUpperCase(),
			() => `${pick(LETTERS)}\\${text}`,
		];
		return kinds[dice(kinds.length)]?.() ?? text;
	};
	const names = new Set<string>([...WORDS, ...LETTERS]);
	while (names.size < count) {
		let name = pick(WORDS);
		for (let times = dice(4); times >= 0; times -= 1) name = mutate(name);
		if (name !== "" && name !== "." && name !== "..") names.add(name);
	}
	return [...names];
};

test(
	"names are special exactly where git fsck --strict says so",
	() =>
		withFixture(async ({ gitDir, repo }) => {
			const batch = repo.batch();
			const target = batch.blob("target");
			await batch.flush();
			const objects = join(gitDir, "objects");
			const names = new Map<string, string>();
			for (const text of createNames(1500)) {
				// Upper case can lead out of latin1.
				const bytes = Buffer.from(text, "latin1");
				const name = bytes.toString("latin1");
				const body = Buffer.concat([Buffer.from("120000 "), bytes, Buffer.alloc(1), Buffer.from(target, "hex")]);
				const oid = hashObject("tree", body);
				names.set(oid, name);
				moveIn(
					objects,
					oid,
					stage(objects, oid, deflateSync(Buffer.concat([objectHeader("tree", body.length), body]))),
				);
			}
			const env = gitEnvironment(gitDir, process.env.PATH);
			const fsck = spawnSync("git", ["fsck", "--strict", "--no-dangling"], {
				env,
				encoding: "utf8",
				maxBuffer: 2 ** 26,
			});
			const found = (kind: string): Set<string> =>
				new Set(
					[...fsck.stderr.matchAll(new RegExp(` in tree ([0-9a-f]{40}): ${kind}`, "g"))].map(([, oid]) => oid ?? ""),
				);
			const [dotGit, modules, attributes] = [
				found("hasDotgit"),
				found("gitmodulesSymlink"),
				found("gitattributesSymlink"),
			];
			for (const set of [dotGit, modules, attributes]) expect(set.size).toBeGreaterThan(15);
			const differences = [...names].filter(([oid, name]) => {
				const special = specialName(name);
				// One name can stand for both files, and git says nothing of a link after a backslash: none may go unseen.
				const silent = name.includes("\\") && special === "gitattributes";
				const seen = modules.has(oid)
					? special === "gitmodules"
					: silent || (special === "gitattributes") === attributes.has(oid);
				return isDotGit(name) !== dotGit.has(oid) || !seen;
			});
			expect(differences.map(([, name]) => JSON.stringify(name))).toEqual([]);
		}),
	30_000,
);
