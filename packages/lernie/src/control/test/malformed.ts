import { failed, type Outcome, ok, type Point, quoted, words } from "./point.ts";
import { FIELDS, notRequests, PLAIN, textOf, withoutField } from "./requests.ts";
import type { Heard, Subject } from "./subject.ts";

/** How long a control that stays may be silent about what is no request: silence is no pass. */
const SILENCE_SECONDS = 5;

const saysPass = (said: Buffer): boolean => /"verdict"\s*:\s*"pass"/.test(said.toString("latin1"));

/**
 * Why the answer to something that is no request is wrong, or undefined. In mode `once` the control prints nothing that is a
 * verdict and exits with another code than 0. In mode `serve` it may refuse, hold, exit or say nothing, but not pass.
 */
const wrong = (mode: Subject["mode"], { said, end, answer, ruling }: Heard): string | undefined => {
	if (mode === "serve") return saysPass(said) ? `it passes: ${quoted(said)}` : undefined;
	if (answer.verdict !== "fault") return `it answers ${words(answer)}`;
	if (end?.kind === "exited") return end.code === 0 ? "it exits with 0" : undefined;
	return end?.kind === "signalled" ? undefined : words(ruling);
};

const checkAll = async (
	subject: Subject,
	texts: readonly (readonly [what: string, text: string])[],
	good: string,
): Promise<Outcome> => {
	const seconds = subject.mode === "serve" ? Math.min(subject.timeoutSeconds, SILENCE_SECONDS) : undefined;
	for (const [what, text] of texts) {
		const why = wrong(subject.mode, await subject.askText(text, PLAIN.id, seconds));
		if (why !== undefined) return failed(`${what}: ${why}`);
	}
	return ok(good);
};

const GOOD = {
	once: "makes it exit with another code than 0 and say nothing",
	serve: "never gets a pass",
} as const;

/** A control that answers before it has the request says nothing about the call: what is cut off gets no pass. */
const cutOff = async (subject: Subject): Promise<Outcome> => {
	if (subject.mode === "once") {
		const half = textOf(PLAIN, "once").slice(0, -8);
		for (const text of ["", half]) {
			const { ruling, end } = await subject.askText(text, PLAIN.id);
			const what = text === "" ? "an empty stdin" : "a stdin that ends within the request";
			if (ruling.verdict === "pass") return failed(`${what} got a pass`);
			if (end?.kind === "timed-out") return failed(`${what}: ${words(ruling)}`);
		}
		return ok("a stdin that ends before the request does gets no pass, and it ends");
	}
	const started = await subject.begin();
	await started.close();
	const unasked = started.unasked();
	if (unasked !== undefined && saysPass(unasked)) return failed(`half a line got a pass: ${quoted(unasked)}`);
	return started.ended()?.kind === "exited"
		? ok("a stdin that ends within a line gets no pass, and it ends")
		: failed("it does not end within 2 s of a stdin that ended within a line");
};

/** The points about what is no request, or not a whole one. */
export const malformedPoints: readonly Point[] = [
	{
		id: "missing-field",
		needsVerdict: true,
		check: ({ subject }) =>
			checkAll(
				subject,
				FIELDS.map((field) => [`a request without ${JSON.stringify(field)}`, withoutField(PLAIN, subject.mode, field)]),
				`a request without one of the five fields ${GOOD[subject.mode]}`,
			),
	},
	{
		id: "not-json",
		needsVerdict: true,
		check: ({ subject }) =>
			checkAll(subject, notRequests(subject.mode), `what is not one JSON object ${GOOD[subject.mode]}`),
	},
	{ id: "unread-stdin", needsVerdict: true, check: ({ subject }) => cutOff(subject) },
];
