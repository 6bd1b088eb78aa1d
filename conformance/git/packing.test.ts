import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

const counts = (ws: Workspace): Readonly<Record<string, number>> =>
	Object.fromEntries(
		ws
			.git("count-objects", "-v")
			.trim()
			.split("\n")
			.map((line) => line.split(": "))
			.map(([key = "", value]) => [key, Number(value)]),
	);

/** As many objects on a branch, each in a file of its own. */
const addLoose = (ws: Workspace, count: number): void => {
	const files = Array.from({ length: count }, (_, at) => `M 100644 inline d${at % 90}/f${at}\ndata <<E\n${at}\nE\n`);
	const commit = "commit refs/heads/filler\ncommitter t <t@localhost> 1767225600 +0000\ndata <<E\nfiller\nE\n";
	const settings = ["-c", `fastimport.unpackLimit=${count * 2}`, "-c", "core.fsync=none"];
	ws.gitInput(`${commit}${files.join("")}done\n`, ...settings, "fast-import", "--quiet", "--done");
};

verifies(
	"files-packed",
	"a drive packs a record of many loose objects when it rests, one of few it leaves alone",
	async () => {
		const ws = await createWorkspace({ script: { calls: [{ say: "hello" }] } });
		const first = await ws.run("one");
		expect(first).toMatchObject({ code: 0 });
		expect(counts(ws)).toMatchObject({ packs: 0 });
		addLoose(ws, 7000);
		expect(counts(ws).count).toBeGreaterThan(7000);
		// What no ref leads to is nobody's to pack or to remove: another driver may be about to use it.
		const unreachable = ws.gitInput("not yet", "hash-object", "-w", "--stdin").trim();
		const second = await ws.run("two");
		expect(second, second.stderr).toMatchObject({ code: 0 });
		expect(counts(ws)).toMatchObject({ packs: 1, garbage: 0, "prune-packable": 0 });
		expect(counts(ws).count).toBeLessThan(10);
		expect(ws.git("cat-file", "blob", unreachable)).toBe("not yet");
		for (const { agent } of [first, second]) expect(ws.entries(agent)).toHaveLength(2);
		expect(ws.git("show", "filler:d7/f97")).toBe("97\n");
	},
);
