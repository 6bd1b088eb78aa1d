import { expect } from "vitest";
import { asked, batch, createBatchWorkspace, notes, sectionsOf } from "../support/batch.ts";
import { consults, PASS, shellControl } from "../support/controls.ts";
import { createPlace, type Place } from "../support/place.ts";
import { createRandom, type Random, testSeed } from "../support/random.ts";
import { verifies } from "../support/verifies.ts";
import { HOLD, REFUSE, recorded } from "../support/window.ts";

/** What an entry does, by the name of its tool. `faulty` is one about which the control fails once and then passes. */
const KINDS = ["good", "good", "good", "bad", "refused", "held", "faulty", "nobody", "multi_tool", "broken"] as const;
type Kind = (typeof KINDS)[number];

interface Batch {
	readonly entries: readonly Kind[];
	readonly execution: "serial" | "parallel";
	readonly onFailure: "abort" | "run_all";
}

/** What must have become of a batch in the end. */
interface Outcome {
	readonly statuses: readonly string[];
	/** Places of the entries whose tool ran, and of those with a record. */
	readonly ran: readonly number[];
	readonly records: readonly number[];
	/** Places the control was asked about, drive by drive; -1 is the batch itself. */
	readonly asked: readonly number[];
	/** How many drives ended in it. */
	readonly faults: number;
}

const JUDGED: readonly Kind[] = ["good", "bad", "refused", "held", "faulty", "broken"];

const STATUS: Readonly<Record<Kind, string>> = {
	good: "ok",
	faulty: "ok",
	bad: "failed",
	broken: "failed",
	refused: "declined",
	held: "declined",
	nobody: "declined",
	multi_tool: "declined",
};

/** The rules of a batch once more, as a person would write them down (`spec/tools.md` §11, CONTRACTS §6). */
const outcomeOf = ({ entries, execution, onFailure }: Batch): Outcome => {
	const broke = new Set<number>();
	const order: number[] = [];
	const faultAt = (at: number): boolean => {
		if (JUDGED.includes(entries[at] ?? "good")) order.push(at);
		if (entries[at] !== "faulty" || broke.has(at)) return false;
		broke.add(at);
		return true;
	};
	for (;;) {
		order.push(-1);
		const statuses: string[] = [];
		let fault: number | undefined;
		for (const [at, kind] of entries.entries()) {
			const ended = execution === "serial" && onFailure === "abort" && statuses.some((status) => status !== "ok");
			if (ended) statuses.push("skipped");
			else if (faultAt(at)) {
				fault = at;
				break;
			} else statuses.push(STATUS[kind]);
		}
		const started = execution === "serial" && statuses.some((status) => status === "ok" || status === "failed");
		// Parked: the next drive asks about all of it again.
		if (fault !== undefined && !started) continue;
		if (fault !== undefined) statuses.push("declined", ...entries.slice(fault + 1).map(() => "skipped"));
		const at = (test: (status: string, kind: Kind) => boolean): number[] =>
			entries.flatMap((kind, place) => (test(statuses[place] ?? "", kind) ? [place] : []));
		return {
			statuses,
			ran: at((status, kind) => ["ok", "failed"].includes(status) && kind !== "broken"),
			records: at((status) => ["ok", "failed"].includes(status)),
			asked: order,
			faults: broke.size,
		};
	}
};

const randomBatch = (random: Random): Batch => ({
	entries: Array.from({ length: random.below(6) }, () => random.pick(KINDS)),
	execution: random.pick(["serial", "parallel"]),
	onFailure: random.pick(["abort", "run_all"]),
});

/** A control that goes by the tool's name, and fails the first time it is shown a faulty entry. */
const control = (place: Place): string => {
	const seen = `${place.path("seen")}/$tag`;
	place.write("seen/.keep", "");
	return shellControl(
		place,
		`name=\${request#*'"name":"'}; name=\${name%%'"'*}; tag=\${request#*'"tag":"'}; tag=\${tag%%'"'*}
case "$name" in
	refused) printf '%s' '${REFUSE}';;
	held) printf '%s' '${HOLD}';;
	faulty) [ -e ${seen} ] && printf '%s' '${PASS}' || : > ${seen};;
	*) printf '%s' '${PASS}';;
esac`,
	);
};

const BATCHES = 12;
/** Each park is a drive of its own; a batch has at most five. */
const DRIVES = BATCHES * 6;

verifies("multi-tool-model", "random batches come out as the rules say, and nothing runs twice", async () => {
	const seed = testSeed();
	const random = createRandom(seed);
	const batches = Array.from({ length: BATCHES }, () => randomBatch(random));
	const outcomes = batches.map(outcomeOf);
	const told = (at: number): string => `seed ${seed}, batch ${at + 1}: ${JSON.stringify(batches[at])}`;

	const place = createPlace();
	place.write("home/tools/broken.json", '{"type":"object"}');
	place.write("home/tools/lernie-tool-broken", "#!/bin/sh\n");
	const messages = batches.map(({ entries, execution, onFailure }, at) => ({
		tools: [
			batch(
				entries.map((name, k) => ({ name, input: { tag: `${at}.${k}` } })),
				{ execution, on_failure: onFailure },
			),
		],
	}));
	const ws = await createBatchWorkspace([], {
		place,
		control: control(place),
		tools: { good: "", bad: "exit 3", refused: "", held: "", faulty: "" },
		granted: ["broken"],
	});
	ws.setScript({ calls: [...messages, { say: "done" }] });

	const { agent, ...first } = await ws.run();
	const codes = [first.code];
	while (codes.at(-1) === 14 && codes.length < DRIVES) codes.push((await ws.advance(agent)).code);
	const faults = outcomes.reduce((sum, outcome) => sum + outcome.faults, 0);
	expect(codes, `seed ${seed}: ${first.stderr}`).toEqual([...Array<number>(faults).fill(14), 0]);

	const results = ws.results(agent);
	const noted = notes(ws).map((line) => (JSON.parse(line.slice(line.indexOf(" "))) as { tag: string }).tag);
	for (const [at, { statuses, ran }] of outcomes.entries()) {
		const { tally, sections } = sectionsOf(results[at]?.text ?? "");
		expect(
			sections.map(({ status }) => status),
			told(at),
		).toEqual(statuses);
		const count = (...some: readonly string[]): number => statuses.filter((status) => some.includes(status)).length;
		const failed = count("failed", "declined");
		expect(tally, told(at)).toBe(
			`${statuses.length} invocations: ${count("ok")} ok, ${failed} failed, ${count("skipped")} skipped`,
		);
		expect(results[at]?.isError, told(at)).toBe(failed > 0);
		const own = noted.filter((tag) => tag.startsWith(`${at}.`));
		const wanted = ran.map((k) => `${at}.${k}`);
		if (batches[at]?.execution === "parallel") expect([...own].sort(), told(at)).toEqual([...wanted].sort());
		else expect(own, told(at)).toEqual(wanted);
	}
	const records = outcomes.flatMap(({ records: places }, at) =>
		places.map((k) => `${String(at + 1).padStart(3, "0")}/t1-${k + 1}`),
	);
	expect([...recorded(ws, agent)].sort(), `seed ${seed}`).toEqual([...records].sort());
	const order = outcomes.flatMap((outcome) => outcome.asked.map((k) => (k === -1 ? "t1" : `t1-${k + 1}`)));
	expect(asked(consults(ws)), `seed ${seed}`).toEqual(order);
});
