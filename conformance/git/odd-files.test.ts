import { spawnSync } from "node:child_process";
import { chmodSync } from "node:fs";
import { expect } from "vitest";
import { leftOut, thrownAway } from "../support/odd-files.ts";
import { createPlace, LAUNCHER } from "../support/place.ts";
import { bash, runCalls, type Scenario } from "../support/scenario.ts";
import { agentDirectory, directoryListing, type Listing, workListing } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

const TWICE = { after: [{ say: "done" }, { say: "again" }] };

/** What the tip records is what lies in the directory, and what lies there again after it was thrown away. */
const expectKept = async ({ ran, ws, agent }: Scenario): Promise<Listing> => {
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	const kept = directoryListing(agentDirectory(ws, agent));
	expect(workListing(ws, `agents/${agent}`)).toEqual(kept);
	expect(leftOut(ws, `agents/${agent}~1`)).toEqual({});
	expect(await thrownAway(ws, agent)).toEqual(kept);
	return kept;
};

verifies("files-names", "a name may be of any bytes; it is recorded and put back as it is", async () => {
	const scenario = await runCalls(
		[
			bash(
				"printf 1 > $'bad\\xff'; printf 2 > $'new\\nline'; printf 3 > $'t\\tab \"and\\' quote'; printf 4 > 'back\\slash'; " +
					"printf 5 > ' blanks '; printf 6 > ./-n; printf 7 > '*'; printf 8 > ':(top)x'; printf 9 > $'\\x01\\e[31m\\x7f'; " +
					"printf 10 > $'e\\xcc\\x81'; printf 11 > $'\\xc3\\xa9'; printf 12 > $'\\xed\\xa0\\x80'; printf 13 > $'\\xc0\\xaf'",
			),
			bash(
				"mkdir -p $'d\\xfe\\n\\\\/e e' && printf 14 > $'d\\xfe\\n\\\\/e e/f\\r'; printf 15 > $(printf 'x%.0s' {1..255})",
			),
		],
		TWICE,
	);
	const kept = await expectKept(scenario);
	expect(Object.keys(kept)).toHaveLength(15);
	expect(Object.keys(kept)).toContain("d\xfe\n\\/e e/f\r");
});

verifies(
	"files-modes",
	"of a mode the owner's right to execute is kept; two names of one file are two files",
	async () => {
		const scenario = await runCalls(
			[
				bash("echo a > a; echo b > b; echo c > c; echo d > d; ln a a2; mkdir s; ln a s/a3"),
				bash("chmod 755 b; chmod 4711 c; chmod 600 d; : > empty"),
			],
			TWICE,
		);
		const kept = await expectKept(scenario);
		const runs = Object.keys(kept).filter((path) => kept[path]?.startsWith("100755 "));
		expect(runs).toEqual(["b", "c"]);
		expect([kept.a2, kept["s/a3"]]).toEqual([kept.a, kept.a]);
		expect(kept.empty).toMatch(/^100644 e69de29/);
	},
);

verifies(
	"files-links",
	"a link is recorded and put back as a link, wherever it leads, and nothing behind it is",
	async () => {
		const place = createPlace();
		place.write("outside/secret", "secret");
		const scenario = await runCalls(
			[
				bash(
					"mkdir d; echo x > d/f; ln -s nowhere dangling; ln -s /etc/passwd absolute; ln -s d directory; ln -s .. d/up; " +
						"ln -s self self; ln -s two one; ln -s one two; ln -s $'a\\xff\\nb' odd; ln -s \"$(printf 'y%.0s' {1..4000})\" long",
				),
				bash(`ln -s '${place.path("outside")}' out; ln -s '${place.path("outside/secret")}' s`),
			],
			{ ...TWICE, place },
		);
		const kept = await expectKept(scenario);
		const { ws, agent } = scenario;
		expect(Object.values(kept).filter((entry) => entry.startsWith("120000 "))).toHaveLength(11);
		expect(ws.git("show", `agents/${agent}:s`)).toBe(place.path("outside/secret"));
		expect(Object.keys(kept).filter((path) => path.startsWith("out/") || path.startsWith("directory/"))).toEqual([]);
	},
);

verifies("files-git-names", "what git would take for its own is left out in every spelling, and named", async () => {
	const aliases = ".GIT '.git ' .git. git~1 '.git::$INDEX_ALLOCATION' $'.g\\xe2\\x80\\x8cit'";
	const scenario = await runCalls([
		bash(
			`for d in ${aliases}; do mkdir "$d"; echo x > "$d/config"; done; mkdir sub; (cd sub; git init -q .; echo 1 > f)`,
		),
		bash(
			"mkdir l; cd l; for f in .gitmodules .GITMODULES gi7eba~1; do ln -s x $f; done; mkdir -p a/.gitattributes; echo 2 > a/g",
		),
		bash("echo 3 > .gitx; echo 4 > x.git; echo 5 > git~2; echo 6 > gitmodules; printf '[core]\\n' > .gitmodules"),
	]);
	const { ws, agent, ran } = scenario;
	expect(ran.code).toBe(0);
	const own = "git takes it for its own";
	const named = {
		".GIT": own,
		".git%20": own,
		".git.": own,
		"git%7E1": own,
		".git%3A%3A%24INDEX_ALLOCATION": own,
		".g%E2%80%8Cit": own,
		"sub%2F.git": own,
		"l%2F.gitmodules": "git refuses a link of this name",
		"l%2F.GITMODULES": "git refuses a link of this name",
		"l%2Fgi7eba%7E1": "git refuses a link of this name",
		"l%2Fa%2F.gitattributes": "git refuses a directory of this name",
	};
	expect(leftOut(ws, `agents/${agent}~1`)).toEqual(named);
	expect(Object.keys(workListing(ws, `agents/${agent}`)).sort()).toEqual(
		[".gitmodules", ".gitx", "git~2", "gitmodules", "l/a/g", "sub/f", "x.git"].sort(),
	);
});

verifies("files-special", "sockets, pipes and devices are left out and named", async () => {
	const socket = `require("net").createServer().listen("sock", () => process.kill(process.pid, "SIGKILL"))`;
	const { ws, agent, ran, results } = await runCalls([
		bash(`mkdir d; mkfifo d/pipe; node -e '${socket}'; echo 1 > good; mknod null c 1 3 2>/dev/null || echo none`),
	]);
	expect(ran.code).toBe(0);
	const devices = results[0]?.text.includes("none") ? {} : { null: "a device" };
	expect(leftOut(ws, `agents/${agent}~1`)).toEqual({ "d%2Fpipe": "a named pipe", sock: "a socket", ...devices });
	expect(Object.keys(workListing(ws, `agents/${agent}`))).toEqual(["good"]);
});

/** A program that starts another without root's right to read everything, if there is a way. */
const deprived = (secret: string): readonly string[] | undefined => {
	const rights = "-dac_override,-dac_read_search";
	const ways = [["env"], ["setpriv", "--inh-caps", rights, "--bounding-set", rights]];
	return ways.find(([program = "", ...args]) => {
		const runs = (...command: readonly string[]): boolean => spawnSync(program, [...args, ...command]).status === 0;
		return runs("true") && !runs("cat", secret);
	});
};

verifies("files-unreadable", "files and directories that cannot be read are left out and named", async ({ skip }) => {
	const place = createPlace();
	const secret = place.write("secret", "x");
	chmodSync(secret, 0);
	const [program, ...rights] = deprived(secret) ?? [];
	if (program === undefined) return skip("who runs this can read everything");
	const make = "echo 1 > good; echo 2 > secret; mkdir closed blind; echo 3 > closed/f; echo 4 > blind/f";
	const calls = [
		{ tools: [bash(`${make}; chmod 000 secret closed; chmod 444 blind`)] },
		{ tools: [bash("chmod 700 secret closed blind")] },
		{ say: "done" },
	];
	const ws = await createWorkspace({ script: { calls }, place });
	const env = { ...ws.env, LERNIE_SCRIPT: ws.path("script.yaml") };
	const argv = [...rights, process.execPath, LAUNCHER, "-w", ws.dir, "run", "do it"];
	const { status, stderr } = spawnSync(program, argv, { env, encoding: "utf8" });
	expect(status, stderr).toBe(0);
	const agent = /^agent (\S+) /m.exec(stderr)?.[1] ?? "";
	expect(leftOut(ws, `agents/${agent}~3`)).toEqual({
		"blind%2Ff": "cannot be read (EACCES)",
		closed: "cannot be read (EACCES)",
		secret: "cannot be read (EACCES)",
	});
	expect(Object.keys(workListing(ws, `agents/${agent}~3`))).toEqual(["good"]);
	expect(Object.keys(workListing(ws, `agents/${agent}`)).sort()).toEqual(["blind/f", "closed/f", "good", "secret"]);
});

verifies("files-empty-directories", "an empty directory is not recorded, and so is not put back", async () => {
	const { ws, agent } = await runCalls([bash("mkdir -p empty/inner full; echo 1 > full/f")], TWICE);
	expect(leftOut(ws, `agents/${agent}~1`)).toEqual({});
	expect(ws.exists(`ws/agents/${agent}/empty/inner`)).toBe(true);
	expect(Object.keys(await thrownAway(ws, agent))).toEqual(["full/f"]);
	expect(ws.exists(`ws/agents/${agent}/empty`)).toBe(false);
});

verifies(
	"files-ignored",
	"a .gitignore keeps the agent's own files out of the record, and nothing of the harness's",
	async () => {
		const rules = "messages/\\nmessages\\ngoal.md\\n*.md\\n/out/\\n!keep.log\\n*.log\\n!important.log\\n";
		const scenario = await runCalls(
			[
				bash(
					`printf '${rules}' > .gitignore; mkdir -p out sub/out; echo 1 > out/a; echo 2 > sub/out/b; echo 3 > x.log`,
				),
				bash(
					"echo 4 > important.log; echo 5 > n.md; printf '*.tmp\\n!n.md\\n' > sub/.gitignore; echo 6 > sub/n.md; echo 7 > sub/q.tmp",
				),
			],
			TWICE,
		);
		const { ws, agent } = scenario;
		const recorded = [".gitignore", "important.log", "sub/.gitignore", "sub/n.md", "sub/out/b"];
		expect(Object.keys(workListing(ws, `agents/${agent}`)).sort()).toEqual(recorded);
		expect(ws.entries(agent).map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
		expect(ws.git("show", `agents/${agent}:goal.md`)).toBe("do it");
		expect(Object.keys(await thrownAway(ws, agent)).sort()).toEqual(recorded);
	},
);

verifies("files-named-bound", "a commit names what was left out up to a bound, and counts the rest", async () => {
	const name = "p".repeat(100);
	const { ws, agent, ran } = await runCalls([bash(`seq -f '${name}-%04.0f' 2000 | xargs mkfifo; echo 1 > good`)]);
	expect(ran.code).toBe(0);
	const named = leftOut(ws, `agents/${agent}~1`);
	const { "*": rest, ...pipes } = named;
	expect(new Set(Object.values(pipes))).toEqual(new Set(["a named pipe"]));
	expect(rest).toBe(`${2000 - Object.keys(pipes).length} more`);
	expect(Number(ws.git("cat-file", "-s", `agents/${agent}~1`))).toBeLessThan(100_000);
	expect(Object.keys(pipes).length).toBeGreaterThan(400);
	expect(Object.keys(workListing(ws, `agents/${agent}`))).toEqual(["good"]);
});
