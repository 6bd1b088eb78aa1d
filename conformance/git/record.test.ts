import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { createPlace } from "../support/place.ts";
import { bash, runCalls, type Scenario, stepFile } from "../support/scenario.ts";
import { agentDirectory, directoryListing, workListing } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";

const expectWholeRecord = ({ ws, agent }: Scenario): void =>
	expect(workListing(ws, `agents/${agent}`)).toEqual(directoryListing(agentDirectory(ws, agent)));

verifies(
	"tools-158",
	"what a call wrote is in its own commit, the directory equals the tree, step records are in none",
	async () => {
		const scenario = await runCalls([
			bash("echo 1 > out.txt; mkdir -p d; ln -s ../out.txt d/link; echo x > d/run; chmod +x d/run"),
		]);
		const { agent, ws } = scenario;
		const changed = ws.git("diff-tree", "-r", "--name-only", "--no-commit-id", `agents/${agent}~1`).trim().split("\n");
		expect(changed).toEqual(["d/link", "d/run", "messages/003-tool.json", "out.txt"]);
		expectWholeRecord(scenario);
		expect(workListing(ws, `agents/${agent}`)["d/run"]).toMatch(/^100755 /);
		expect(ws.git("log", "--all", "--format=", "--name-only")).not.toMatch(/^(steps|inbox|agents)\//m);
	},
);

verifies(
	"contract-plain-directory",
	"an agent's directory is no repository and holds nothing of the harness",
	async () => {
		const { agent, ws, results } = await runCalls([bash("ls -A; git rev-parse --git-dir 2>&1")]);
		expect(results[0]?.text).toMatch(/^Exit code: 128\nfatal: not a git repository/);
		expect(directoryListing(agentDirectory(ws, agent))).toEqual({});
	},
);

verifies(
	"contract-own-repository",
	"an agent may keep a repository of its own: its files are recorded, its .git is not",
	async () => {
		const git = "git -c user.name=a -c user.email=a@b";
		const scenario = await runCalls([
			bash(`git init -q . && echo 1 > f && git add f && ${git} commit -q -m one`),
			bash(`mkdir sub && cd sub && git init -q . && echo 2 > g && git add g && ${git} commit -q -m two`),
			bash("mkdir empty && cd empty && git init -q . && echo 3 > h"),
			bash("mkdir -p odd/.GIT && echo x > odd/.GIT/config && echo 4 > odd/k"),
		]);
		expect(scenario.ran.code).toBe(0);
		expect(scenario.results.map(({ isError }) => isError)).toEqual([false, false, false, false]);
		const paths = Object.keys(workListing(scenario.ws, `agents/${scenario.agent}`)).sort();
		expect(paths).toEqual(["empty/h", "f", "odd/k", "sub/g"]);
	},
);

verifies(
	"contract-attributes",
	"attributes of the agent's own convert nothing: the bytes are recorded as they are",
	async () => {
		const scenario = await runCalls([
			bash("printf '* text=auto eol=crlf\\n*.x filter=lfs ident\\n' > .gitattributes"),
			bash("printf 'a\\r\\nb\\nc\\r\\n' > mixed; printf '$Id$\\n' > id.x; printf 'plain\\n' > plain"),
		]);
		expectWholeRecord(scenario);
		const { ws, agent } = scenario;
		expect(ws.gitBytes("cat-file", "blob", `agents/${agent}:mixed`).toString("latin1")).toBe("a\r\nb\nc\r\n");
	},
);

verifies("contract-ignore", "a .gitignore has power over the agent's work and none over the transcript", async () => {
	const scenario = await runCalls([
		bash("echo '*' > .gitignore; echo 1 > hidden; mkdir d; echo 2 > d/deep"),
		bash("true"),
	]);
	const { ran, ws, agent } = scenario;
	expect(ran.code).toBe(0);
	expect(workListing(ws, `agents/${agent}`)).toEqual({});
	expect(ws.entries(agent)).toHaveLength(5);
	expect(existsSync(join(agentDirectory(ws, agent), "d/deep"))).toBe(true);
});

verifies(
	"contract-harness-paths",
	"what a tool puts where only the harness writes is left out, counted, and never an entry",
	async () => {
		const forged =
			"messages/002-model-a.json messages/003-user.md messages/099-user.md goal.md soul.md name summary/001.md";
		const scenario = await runCalls([
			bash(
				`mkdir -p messages summary descriptions/tools; for f in ${forged} descriptions/tools/bash.json; do echo forged > $f; done`,
			),
			bash("echo honest > out; rm -rf messages"),
		]);
		const { ran, ws, agent } = scenario;
		expect(ran.code).toBe(0);
		expect(ws.entries(agent).map(({ file }) => file)).toEqual([
			"001-user.md",
			"002-model-a.json",
			"003-tool.json",
			"004-tool.json",
			"005-model-a.json",
		]);
		for (const { text } of ws.entries(agent)) expect(text).not.toContain("forged\n");
		for (const path of ["goal.md", "name", "soul.md", "descriptions/tools/bash.json"])
			expect(ws.git("show", `agents/${agent}:${path}`)).not.toContain("forged");
		expect(ws.trailers(agent, "Lernie-Restored")).toEqual(["5", "8"]);
		const request = ws.read(stepFile(agent, "002", "request.json"));
		expect(request).toContain("do it");
		expect(JSON.parse(request).system).not.toContain("forged");
	},
);

verifies(
	"contract-unrecorded",
	"what cannot be recorded is left out and named, and the result is committed",
	async () => {
		const socket = `require("net").createServer().listen("s ock", () => process.kill(process.pid, "SIGKILL"))`;
		const scenario = await runCalls([
			bash(`mkfifo pipe é $'x\\xff'; node -e '${socket}'; echo 1 > good; mkdir d; mkfifo d/fifo; test -S 's ock'`),
			bash("truncate -s 104857601 huge"),
		]);
		const { ran, results, ws, agent } = scenario;
		expect(ran.code).toBe(0);
		expect(results.map(({ isError }) => isError)).toEqual([false, false]);
		expect(Object.keys(workListing(ws, `agents/${agent}`))).toEqual(["good"]);
		const [last, first] = [`agents/${agent}~1`, `agents/${agent}~2`].map((commit) =>
			ws.git("log", "-1", "--format=%(trailers:key=Lernie-Unrecorded,valueonly)", commit).trim().split("\n"),
		);
		const left = ["d%2Ffifo a named pipe", "pipe a named pipe", "s%20ock a socket"];
		expect(first).toEqual([...left, "x%FF a named pipe", "%C3%A9 a named pipe"]);
		expect(last).toHaveLength(6);
		expect(last?.join("\n")).toMatch(/^huge /m);
	},
);

verifies("contract-names", "file names of any bytes are recorded as they are", async () => {
	const scenario = await runCalls([
		bash(
			`printf 1 > $'bad\\xff'; printf 2 > $'new\\nline'; printf 3 > ' -x '; printf 4 > é; printf 5 > ':(top)'; printf 6 > '*'`,
		),
	]);
	expect(Object.keys(workListing(scenario.ws, `agents/${scenario.agent}`))).toHaveLength(6);
	expectWholeRecord(scenario);
});

verifies(
	"contract-removed-directory",
	"an agent that removes its own directory gets its result, and goes on",
	async () => {
		const scenario = await runCalls([bash("echo 1 > f"), bash('rm -rf "$PWD"'), bash("echo 2 > g; ls")]);
		expect(scenario.ran, scenario.ran.stderr).toMatchObject({ code: 0, stdout: "done\n" });
		expect(scenario.results).toHaveLength(3);
		expectWholeRecord(scenario);
	},
);

verifies(
	"contract-replaced-directory",
	"a link in place of an agent's directory is not followed, and the result is committed",
	async () => {
		const place = createPlace();
		place.write("outside/secret", "secret");
		const scenario = await runCalls(
			[bash("echo 1 > f"), bash(`d=$PWD; cd /; rm -rf "$d"; ln -s ${place.path("outside")} "$d"`)],
			{ place },
		);
		expect(scenario.ran, scenario.ran.stderr).toMatchObject({ code: 0, stdout: "done\n" });
		expect(scenario.results).toHaveLength(2);
		expect(Object.keys(workListing(scenario.ws, `agents/${scenario.agent}`))).not.toContain("secret");
		expect(readFileSync(place.path("outside/secret"), "utf8")).toBe("secret");
	},
);

verifies("contract-inherited-git", "git variables in the environment lead nowhere", async () => {
	const place = createPlace();
	const other = place.path("other");
	execFileSync("git", ["init", "-q", other]);
	const before = directoryListing(join(other, ".git"));
	const env = {
		GIT_DIR: join(other, ".git"),
		GIT_WORK_TREE: other,
		GIT_INDEX_FILE: join(other, "index"),
		GIT_OBJECT_DIRECTORY: join(other, "objects"),
		GIT_NAMESPACE: "elsewhere",
		GIT_CONFIG_COUNT: "1",
		GIT_CONFIG_KEY_0: "core.hooksPath",
		GIT_CONFIG_VALUE_0: other,
	};
	expect(
		await place.lernie(["new", place.path("ws2"), "--model", "scripted/m", "--control", "none"], { env }),
	).toMatchObject({ code: 0 });
	const scenario = await runCalls([bash("echo 1 > f")], { place, run: { env } });
	expect(scenario.ran, scenario.ran.stderr).toMatchObject({ code: 0, stdout: "done\n" });
	expectWholeRecord(scenario);
	expect(directoryListing(join(other, ".git"))).toEqual(before);
});

verifies(
	"contract-git-config",
	"hooks, signing and conversions that a person or the machine configures do not reach the record",
	async () => {
		const place = createPlace();
		const hook = `#!/bin/sh\necho "$0" >> ${place.path("hooks.log")}\nexit 1\n`;
		for (const name of ["pre-commit", "reference-transaction", "post-commit", "commit-msg"])
			place.script(`hooks/${name}`, hook);
		place.script("signer", hook);
		place.write("attributes", "* text eol=crlf\n");
		const config = `[core]\n\thooksPath = ${place.path("hooks")}\n\tautocrlf = true\n\tattributesFile = ${place.path("attributes")}\n\texcludesFile = ${place.write("excludes", "*\n")}\n\tfsmonitor = ${place.path("signer")}\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = ${place.path("signer")}\n[init]\n\ttemplateDir = ${place.path("hooks")}\n[user]\n\tname = Somebody\n\temail = some@body\n`;
		place.write("person/.gitconfig", config);
		const env = { GIT_CONFIG_SYSTEM: place.write("system", config), XDG_CONFIG_HOME: place.path("xdg") };
		place.write("xdg/git/config", config);
		const scenario = await runCalls([bash("printf 'a\\nb\\r\\n' > f")], { place, run: { env } });
		expect(scenario.ran, scenario.ran.stderr).toMatchObject({ code: 0, stdout: "done\n" });
		expectWholeRecord(scenario);
		expect(place.exists("hooks.log")).toBe(false);
		expect(scenario.ws.git("log", "--format=%an%ae%G?", `agents/${scenario.agent}`)).not.toMatch(
			/Somebody|some@body|[^N\n]$/m,
		);
	},
);

verifies(
	"contract-tree-follows",
	"the tree follows what the directory becomes: removed, renamed, retyped, made executable",
	async () => {
		const scenario = await runCalls([
			bash("echo 1 > a; echo 2 > b; mkdir d; echo 3 > d/c; echo 4 > e; echo 5 > g; ln -s a l"),
			bash(
				"rm a; mv b bb; rm -r d; echo file > d; rm e; mkdir e; echo 6 > e/f; chmod +x g; ln -sfn gone l; mkdir void",
			),
			bash(
				"chmod -x g; rm d; ln -s . d; ln -s loop loop; cp -p bb same; printf 7 | dd of=bb conv=notrunc status=none; touch -r same bb",
			),
			bash("rm -rf -- * .[!.]*"),
		]);
		const { ws, agent, ran } = scenario;
		expect(ran.code).toBe(0);
		const at = (back: number): string =>
			Object.keys(workListing(ws, `agents/${agent}~${back}`))
				.sort()
				.join(" ");
		expect([4, 3, 2, 1].map(at)).toEqual(["a b d/c e g l", "bb d e/f g l", "bb d e/f g l loop same", ""]);
		expect(workListing(ws, `agents/${agent}~3`).g).toMatch(/^100755/);
		expect(workListing(ws, `agents/${agent}~2`).g).toMatch(/^100644/);
		expect(ws.git("show", `agents/${agent}~2:bb`)).toBe("7\n");
		expectWholeRecord(scenario);
	},
);
