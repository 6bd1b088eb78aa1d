import { readdirSync } from "node:fs";
import { expect } from "vitest";
import {
	answer,
	attemptsOf,
	begin,
	createModelled,
	linesOf,
	SENDS,
	sends,
	shellModel,
} from "../conformance/support/model.ts";
import { isAlive, type Place, processesNaming, until } from "../conformance/support/place.ts";
import { verifies } from "../conformance/support/verifies.ts";
import type { Workspace } from "../conformance/support/workspace.ts";

/**
 * A model that the first time only begins its answer and stays, deaf to SIGTERM, with a child beside it; later ones note
 * which of the two are alive when they start, and answer.
 */
const staying = (place: Place): string =>
	shellModel(
		place,
		`if [ $n = 1 ]; then
	trap '' TERM
	sleep 60 & echo $! > $here/child
	echo $$ > $here/leader
	${SENDS}
	while :; do sleep 0.05; done
fi
for pid in $(cat $here/leader $here/child); do
	case $(cut -d' ' -f3 /proc/$pid/stat 2> $here/gone) in [RSDT]) echo $pid >> $here/alive ;; esac
done
${SENDS}`,
	);

const pidsOf = (ws: Workspace): readonly number[] =>
	["leader", "child"].map((name) => Number(ws.read(`model/${name}`)));

const agentOf = (ws: Workspace): string =>
	ws.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/heads/agents").trim();

/** The notes about groups that run for a drive. */
const notes = (ws: Workspace): readonly string[] => readdirSync(ws.path("ws/steps", agentOf(ws), "running"));

const expectDone = async (ws: Workspace, step: string): Promise<void> => {
	const agent = agentOf(ws);
	const ran = await ws.advance(agent);
	expect(ran, ran.stderr).toMatchObject({ code: 0 });
	expect(ws.entries(agent).map(({ file }) => file)).toEqual(["001-user.md", "002-model-a.json"]);
	expect(ws.read(`ws/steps/${agent}/${step}/response.json`)).toBe(linesOf(answer("done")));
	expect([notes(ws), processesNaming(ws.root)]).toEqual([[], []]);
};

verifies(
	"model-command-crash",
	"killed before the call, its program was not started, and the next drive starts it",
	async () => {
		const ws = await createModelled((place) => shellModel(place, SENDS));
		sends(ws, [answer("done")]);
		expect(await ws.run("go", { env: { LERNIE_CRASH_AT: "call.request" } })).toMatchObject({ signal: "SIGKILL" });
		expect(attemptsOf(ws)).toEqual([]);
		await expectDone(ws, "002");
		expect(attemptsOf(ws)).toHaveLength(1);
	},
);

verifies(
	"model-command-crash",
	"killed when the answer is complete and not committed, the next drive asks again",
	async () => {
		const ws = await createModelled((place) => shellModel(place, SENDS));
		sends(ws, [answer("lost"), answer("done")]);
		expect(await ws.run("go", { env: { LERNIE_CRASH_AT: "call.sealed" } })).toMatchObject({ signal: "SIGKILL" });
		expect([notes(ws), processesNaming(ws.root)]).toEqual([[], []]);
		await expectDone(ws, "002");
		const [first, second] = attemptsOf(ws);
		expect(second?.stdin).toBe(first?.stdin);
	},
);

const kills: Readonly<Record<string, (ws: Workspace) => Promise<unknown>>> = {
	"at its first line": (ws) => ws.run("go", { env: { LERNIE_CRASH_AT: "call.first-byte" } }),
	"while it says nothing": async (ws) => {
		const driver = ws.start(["-w", ws.dir, "run", "go"]);
		await until("the first line was read", () => {
			const agent = agentOf(ws);
			return (
				agent !== "" &&
				ws.exists(`ws/steps/${agent}/001/response.json`) &&
				ws.read(`ws/steps/${agent}/001/response.json`) !== ""
			);
		});
		driver.process.kill("SIGKILL");
		return driver.ended;
	},
};

for (const [when, kill] of Object.entries(kills))
	verifies(
		["model-command-crash", "model-command-left"],
		`a deaf program and its child, left by a driver killed ${when}, are ended before the next call begins`,
		async () => {
			const ws = await createModelled(staying);
			sends(ws, [[begin], answer("done")]);
			expect(await kill(ws)).toMatchObject({ signal: "SIGKILL" });
			expect(pidsOf(ws).filter(isAlive), "it did not outlive its driver: nothing is tested").toHaveLength(2);
			expect(notes(ws)).toHaveLength(1);
			await expectDone(ws, "002");
			expect(pidsOf(ws).filter(isAlive)).toEqual([]);
			expect(ws.exists("model/alive"), "alive when the call was made again").toBe(false);
		},
	);
