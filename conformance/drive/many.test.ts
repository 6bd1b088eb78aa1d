import { readdirSync } from "node:fs";
import { expect } from "vitest";
import { stringify } from "yaml";
import { leaveMail, messagesOf } from "../support/mail.ts";
import { createPlace, type Ran, until } from "../support/place.ts";
import { atRest } from "../support/scenario.ts";
import { faultsOf, openAt, transcriptOf } from "../support/transcript.ts";
import { verifies } from "../support/verifies.ts";
import { createWorkspace, type Workspace } from "../support/workspace.ts";

/** A minute where nothing else runs; only a hang takes as long as this. */
const LONG = 900_000;
const DRIVERS = 8;
const ROUNDS = 50;

/** Logs when a call begins and ends, so that two at once or one twice show. */
const LOGGING_TOOL = `#!/bin/sh
cat > /dev/null
echo "begin $LERNIE_CALL" >> "$LERNIE_HOME/calls.log"
sleep 0.02
echo "end $LERNIE_CALL" >> "$LERNIE_HOME/calls.log"
`;

/** The calls that began, in order. Every one ends before the next begins, and none begins twice. */
const callsMade = (ws: Workspace): readonly string[] => {
	const lines = ws.read("home/calls.log").trimEnd().split("\n");
	const begun = lines.filter((line) => line.startsWith("begin ")).map((line) => line.slice("begin ".length));
	expect(lines).toEqual(begun.flatMap((call) => [`begin ${call}`, `end ${call}`]));
	expect(new Set(begun).size).toBe(begun.length);
	return begun;
};

const worked = ({ stderr }: Ran): boolean => stderr.includes("delivered a message");
const turnedAway = ({ stderr }: Ran): boolean => stderr.includes("another process drives");

verifies(
	"drive-many-drivers",
	`${DRIVERS} drivers at once, ${ROUNDS} times: one works, nothing is done twice, no message stays`,
	async () => {
		const place = createPlace();
		place.tool("log", LOGGING_TOOL);
		const rounds = Array.from({ length: ROUNDS }, (_, at) => at + 1);
		const turns = rounds.flatMap((round) => [
			{ expect: { user: `^round ${round}$` }, tools: [{ name: "log", input: { round } }] },
			{ say: `done ${round}` },
		]);
		const ws = await createWorkspace({ place, tools: ["log"], script: { calls: [{ say: "ready" }, ...turns] } });
		const { agent } = await ws.run();
		let away = 0;
		for (const round of rounds) {
			// By turns the message lies there before anybody looks, or comes in with its own driver while the others look.
			const races = round % 2 === 0;
			if (!races) await leaveMail(ws, agent, `round ${round}`);
			const drives = Array.from({ length: DRIVERS }, () => ws.advance(agent));
			if (races) expect((await ws.in(["message", agent, `round ${round}`])).code).toBe(0);
			const ran = await Promise.all(drives);
			for (const { code, stdout, stderr } of ran) expect({ code, stdout }, stderr).toEqual({ code: 0, stdout: "" });
			const workers = ran.filter(worked);
			expect(workers.length, ran.map(({ stderr }) => stderr).join("\n--\n")).toBeLessThanOrEqual(1);
			for (const drive of ran.filter(turnedAway)) expect(worked(drive)).toBe(false);
			away += ran.filter(turnedAway).length;
			if (!races) expect(workers).toHaveLength(1);
			await until(`round ${round} is answered`, () => ws.entries(agent).length === 2 + 4 * round && atRest(ws, agent));
			expect(callsMade(ws)).toHaveLength(round);
		}
		// Else they came one after another and nothing was tried.
		expect(away).toBeGreaterThan(ROUNDS);
		const lines = transcriptOf(ws, agent);
		expect([faultsOf(lines), openAt(lines)]).toEqual([[], []]);
		expect(messagesOf(ws, agent)).toEqual(["do it", ...rounds.map((round) => `round ${round}`)]);
		expect(
			lines.filter(({ side, calls }) => side === "assistant" && calls.length === 0).map(({ text }) => text),
		).toEqual(["ready", ...rounds.map((round) => `done ${round}`)]);
		// A step each call of the model, none begun by a second driver.
		const steps = readdirSync(ws.path("ws/steps", agent)).filter((name) => /^\d+$/.test(name));
		expect(steps).toHaveLength(1 + 2 * ROUNDS);
		expect(readdirSync(ws.path("ws/inbox", agent))).toEqual([]);
	},
	LONG,
);

const AGENTS = 8;
const PEOPLE = 2;
const EACH = 100;

verifies(
	"drive-many-senders",
	`${AGENTS} agents and ${PEOPLE} people send ${EACH} messages each to one agent: all arrive once, each sender's in order`,
	async () => {
		const ws = await createWorkspace({ script: { calls: [] }, workflow: { limits: { steps: "unlimited" } } });
		const senders = Array.from({ length: AGENTS + PEOPLE }, (_, at) => `sender-${at}`);
		const [agents, people] = [senders.slice(0, AGENTS), senders.slice(AGENTS)];
		const texts = (sender: string): readonly string[] =>
			Array.from({ length: EACH }, (_, at) => `${sender} says ${String(at).padStart(3, "0")}`);
		const rows = ["receiver", ...agents].map((row) => [row, { adapter: "scripted", script: `${row}.yaml` }] as const);
		ws.write("home/models.yaml", stringify({ providers: Object.fromEntries(rows) }));
		// biome-ignore lint/suspicious/noThenProperty: the contract's name; a script is data and never awaited
		ws.write("home/receiver.yaml", stringify({ calls: [{ say: "noted" }], then: "repeat" }));
		const receiver = await ws.run("listen", { flags: ["--model", "receiver/a"] });
		expect(receiver.code, receiver.stderr).toBe(0);
		const to = receiver.agent;
		const asAgent = async (sender: string): Promise<string> => {
			const tools = texts(sender).map((content) => ({ name: "message", input: { agent: to, content } }));
			ws.write(`home/${sender}.yaml`, stringify({ calls: [{ tools }, { say: "sent" }] }));
			const ran = await ws.run("tell", { flags: ["--model", `${sender}/a`] });
			expect(ran, ran.stderr).toMatchObject({ code: 0, stdout: "sent\n" });
			for (const { text } of ws.results(ran.agent)) expect(text).toContain('{"status":"deposited"}');
			return ran.agent;
		};
		const asPerson = async (sender: string): Promise<string> => {
			for (const text of texts(sender)) {
				const sent = await ws.in(["message", to, text]);
				expect(sent.code, sent.stderr).toBe(0);
			}
			return "user";
		};
		const signatures = await Promise.all([...agents.map(asAgent), ...people.map(asPerson)]);
		await until(
			"the last message is answered",
			() => atRest(ws, to) && readdirSync(ws.path("ws/inbox", to)).length === 0,
		);

		const entries = ws.entries(to).filter(({ file }) => file.endsWith(".md"));
		const bodies = messagesOf(ws, to);
		expect(bodies).toHaveLength(1 + senders.length * EACH);
		for (const [at, sender] of senders.entries()) {
			const own = bodies.flatMap((text, nth) => (text.startsWith(`${sender} `) ? [{ text, entry: entries[nth] }] : []));
			expect(own.map(({ text }) => text)).toEqual(texts(sender));
			for (const { entry } of own) {
				expect(entry?.file).toMatch(new RegExp(`^\\d+-${signatures[at]}\\.md$`));
				expect(entry?.text).toContain(`\nfrom: ${signatures[at]}\n`);
			}
		}
		const lines = transcriptOf(ws, to);
		expect(faultsOf(lines)).toEqual([]);
		expect(lines.at(-1)).toMatchObject({ side: "assistant", text: "noted" });
	},
	LONG,
);
