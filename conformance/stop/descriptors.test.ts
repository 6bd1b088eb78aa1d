import { expect } from "vitest";
import { createPlace } from "../support/place.ts";
import { bash } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace } from "../support/workspace.ts";

const TURNS = 20;
const PER_TURN = 10;
/** What comes and goes by chance; one lost a call would be a hundred by the end. */
const SLACK = 3;

/** Says how many descriptors and children the driver has, each time it is called; itself is one of the children. */
const COUNT = (log: string): string =>
	`#!/bin/sh\necho "$(ls /proc/$PPID/fd | wc -l) $(cat /proc/$PPID/task/*/children | wc -w)" >> ${log}\n`;

verifies(
	"harness-H96",
	"over 200 calls, among them some that leave a child and some that are ended, the driver gains no descriptor and no process",
	async () => {
		const place = createPlace();
		place.tool("count", COUNT(place.path("counts.log")));
		const odd = [
			bash("sleep 600 > /dev/null 2>&1 & exit 0"),
			bash("exec sleep 600"),
			bash("yes | head -c 9000000"),
			{ name: "read_file", input: { path: "nosuch" } },
		];
		const turn = (at: number) => ({
			tools: [...Array(PER_TURN - 1).fill({ name: "count" }), at === 7 ? bash("sleep 600 &") : odd[at % odd.length]],
		});
		const ws = await createWorkspace({
			place,
			script: { calls: [...Array.from({ length: TURNS }, (_, at) => turn(at)), { say: "done" }] },
			tools: ["count", "bash", "read_file"],
			workflow: { tool_timeout_seconds: 0.5, tool_grace_seconds: 0.2 },
		});
		const ran = await ws.run();
		expect(ran, ran.stderr).toMatchObject({ code: 0 });
		expect(ws.results(ran.agent)).toHaveLength(TURNS * PER_TURN);
		const counts = place
			.read("counts.log")
			.trim()
			.split("\n")
			.map((line) => line.split(" ").map(Number) as [number, number]);
		expect(counts).toHaveLength(TURNS * (PER_TURN - 1));
		const most = (which: 0 | 1, part: typeof counts): number => Math.max(...part.map((count) => count[which]));
		const [early, late] = [counts.slice(PER_TURN, 5 * PER_TURN), counts.slice(-5 * PER_TURN)];
		expect(most(0, late), "descriptors").toBeLessThanOrEqual(most(0, early) + SLACK);
		expect(most(1, late), "children").toBeLessThanOrEqual(most(1, early) + SLACK);
	},
	180_000,
);
