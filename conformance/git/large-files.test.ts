import { expect } from "vitest";
import { leftOut, thrownAway } from "../support/odd-files.ts";
import { createPlace } from "../support/place.ts";
import { bash, runCalls } from "../support/scenario.ts";
import { agentDirectory, directoryListing, workListing } from "../support/tree.ts";
import { verifies } from "../support/verifies.ts";
import type { Workspace } from "../support/workspace.ts";

const TWICE = { after: [{ say: "done" }, { say: "again" }] };
const MIB = 1024 * 1024;

verifies(
	"files-sizes",
	"up to 100 MiB a file is recorded whole, beyond that it is named and not even read",
	async () => {
		const make = `: > none; truncate -s ${100 * MIB} most; truncate -s ${100 * MIB + 1} more`;
		// The driver is who started the shell; what its children read counts with it once they ended.
		const read = "grep rchar /proc/$PPID/io";
		const { ws, agent, ran, results } = await runCalls([
			bash(`${make}; truncate -s 10G sparse`),
			bash("echo x > other"),
			bash(read),
		]);
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		const left = { more: "larger than 100 MiB", sparse: "larger than 100 MiB" };
		for (const back of [1, 2, 3]) expect(leftOut(ws, `agents/${agent}~${back}`)).toEqual(left);
		expect(Object.keys(workListing(ws, `agents/${agent}`))).toEqual(["most", "none", "other"]);
		expect(ws.git("cat-file", "-s", `agents/${agent}:most`).trim()).toBe(String(100 * MIB));
		expect(ws.git("cat-file", "-s", `agents/${agent}:none`).trim()).toBe("0");
		// Read once, and once more where its status did not tell yet that it was as before.
		const bytes = Number(/rchar: (\d+)/.exec(results[2]?.text ?? "")?.[1]);
		expect(bytes).toBeGreaterThan(100 * MIB);
		expect(bytes).toBeLessThan(300 * MIB);
	},
	120_000,
);

const counts = (ws: Workspace): Readonly<Record<string, number>> =>
	Object.fromEntries(
		ws
			.git("count-objects", "-v")
			.trim()
			.split("\n")
			.map((line) => line.split(": "))
			.map(([key = "", value]) => [key, Number(value)]),
	);

const DIRECTORIES = 35;

verifies(
	["harness-J105", "files-many"],
	"beside 35,000 files a step that changes one writes what it writes beside none, and all of them come back",
	async () => {
		const fill = `for d in {1..${DIRECTORIES}}; do mkdir -p many/d$d; seq -f "$d of %.0f" 1000 | (cd many/d$d && split -l 1 -a 3 - f-); done`;
		const scenario = await runCalls([bash(fill), bash("echo changed > many/d7/f-aab"), bash("true")], TWICE);
		const { ws, agent, ran } = scenario;
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		// One pack with three fsyncs, and not 35,000 files with one each.
		const objects = counts(ws);
		expect(objects.packs).toBe(1);
		expect(objects["in-pack"]).toBeGreaterThan(34_900);
		expect(objects.count).toBeLessThan(250);
		const added = (back: number): number =>
			ws
				.git("rev-list", "--objects", `agents/${agent}~${back}`, `^agents/${agent}~${back + 1}`)
				.trim()
				.split("\n").length;
		// Commit and root, messages and entry; and for the changed file its blob and the two directories above it.
		expect([added(2), added(1)]).toEqual([7, 4]);
		const kept = directoryListing(agentDirectory(ws, agent));
		expect(Object.keys(kept)).toHaveLength(DIRECTORIES * 1000);
		expect(workListing(ws, `agents/${agent}`)).toEqual(kept);
		expect(await thrownAway(ws, agent)).toEqual(kept);
	},
	180_000,
);

verifies(
	"files-deep",
	"200 directories deep is recorded; a path longer than any system call takes is named",
	async () => {
		const name = "n".repeat(200);
		const long = `for (let i = 0; i < 30; i += 1) { fs.mkdirSync("${name}"); process.chdir("${name}"); } fs.writeFileSync("f", "x")`;
		const scenario = await runCalls(
			[
				bash("for i in {1..200}; do mkdir d$i; cd d$i; done; echo leaf > leaf; ln -s leaf l"),
				bash(`node -e '${long}'; mkdir ok; echo 1 > ok/f`),
				bash(`rm -r ${name}`),
			],
			TWICE,
		);
		const { ws, agent, ran } = scenario;
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		const [[path = "", why] = []] = Object.entries(leftOut(ws, `agents/${agent}~2`));
		expect(why).toBe("the path is too long");
		expect(path).toMatch(/^(n{200}%2F){14}n{200}$/);
		expect(Object.keys(workListing(ws, `agents/${agent}~2`))).toHaveLength(3);
		const kept = directoryListing(agentDirectory(ws, agent));
		expect(Object.keys(kept).map((found) => found.split("/").length)).toEqual(expect.arrayContaining([201, 201, 2]));
		expect(workListing(ws, `agents/${agent}`)).toEqual(kept);
		expect(leftOut(ws, `agents/${agent}~1`)).toEqual({});
		expect(await thrownAway(ws, agent)).toEqual(kept);
	},
);

verifies(
	"files-changing",
	"what changes while it is read is recorded whole or named, and a link put in a directory's place leads nowhere",
	async () => {
		const place = createPlace();
		place.write("outside/f", "secret");
		const churn = `while [ -e go ]; do echo x >> grow; : > gone; rm gone; mv d away; ln -s '${place.path("outside")}' d; rm d; mv away d; done`;
		const begin = `mkdir d; echo mine > d/f; touch go; setsid bash -c '${churn}' > /dev/null 2>&1 < /dev/null &`;
		const steps = 8;
		const looks = Array.from({ length: steps }, () => bash("true"));
		const end = bash("rm go; until [ -e d/f ] && ! [ -e away ]; do sleep 0.01; done; ls");
		const scenario = await runCalls([bash(begin), ...looks, end], { place });
		const { ws, agent, ran } = scenario;
		expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "done\n" });
		expect(scenario.results.map(({ isError }) => isError)).toEqual(Array.from({ length: steps + 2 }, () => false));
		for (let back = 1; back <= steps + 2; back += 1) {
			const commit = `agents/${agent}~${back}`;
			for (const why of Object.values(leftOut(ws, commit)))
				expect(why).toMatch(/^(changed|vanished) while it was read$/);
			const paths = workListing(ws, commit);
			for (const path of Object.keys(paths)) expect(path).toMatch(/^(go|grow|gone|d|(d|away)\/f)$/);
			for (const path of ["d/f", "away/f"])
				if (path in paths) expect(ws.git("show", `${commit}:${path}`)).toBe("mine\n");
			if ("grow" in paths) expect(ws.git("show", `${commit}:grow`)).toMatch(/^(x\n)*$/);
		}
		expect(workListing(ws, `agents/${agent}`)).toEqual(directoryListing(agentDirectory(ws, agent)));
	},
);
