import { failed, type Outcome, ok, type Point, skipped, words } from "./point.ts";
import { largeCall, PLAIN, REQUESTS, withFurther } from "./requests.ts";
import type { Heard } from "./subject.ts";

/** Whether something came that can be an answer, whatever it is worth. */
export const answered = ({ said, end }: Heard): boolean =>
	said.length > 0 && (end === undefined || end.kind === "exited");

const outcome = (faulty: Heard | undefined, good: string): Outcome =>
	faulty === undefined ? ok(good) : failed(words(faulty.ruling));

/** The points about requests as a drive sends them. */
export const askingPoints: readonly Point[] = [
	{
		id: "answers",
		needsVerdict: false,
		check: async ({ heard }) => {
			const silent = heard.find((one) => !answered(one));
			return silent === undefined
				? ok(`it answers each of the ${REQUESTS.length} requests of the fixed set`)
				: failed(`request ${silent.id} got no answer: ${words(silent.ruling)}`);
		},
	},
	{
		id: "grammar",
		needsVerdict: false,
		check: async ({ heard }) => {
			const given = heard.filter(answered);
			if (given.length === 0) return skipped("it gave no answer");
			const wrong = given.find(({ answer }) => answer.verdict === "fault");
			return wrong === undefined
				? ok("each answer is exactly one verdict")
				: failed(`the answer to ${wrong.id}: ${words(wrong.answer)}`);
		},
	},
	{
		id: "exit-zero",
		needsVerdict: false,
		check: async ({ heard, subject }) => {
			const given = heard.filter(answered);
			if (given.length === 0) return skipped("it gave no answer");
			if (subject.mode === "serve") {
				const { exit } = await subject.close();
				if (exit === undefined) return skipped("its process had ended before its stdin was closed");
				return exit.kind === "exited" && exit.code === 0
					? ok("it exits with 0 once its stdin is closed")
					: failed(
							exit.kind === "exited"
								? `it exits with ${exit.code} when its stdin is closed`
								: "it does not exit within 2 s of the end of its stdin",
						);
			}
			const other = given.find(({ end }) => end?.kind !== "exited" || end.code !== 0);
			return outcome(other, "it exits with 0 whatever it answers");
		},
	},
	{
		id: "deadline",
		needsVerdict: false,
		check: async ({ heard, subject }) => {
			if (heard.some(({ late }) => late)) return failed(`no answer within ${subject.timeoutSeconds} s`);
			if (!heard.every(answered)) return skipped("it gave no answer");
			const most = Math.max(...heard.map(({ ms }) => ms));
			return ok(`the slowest answer took ${most} ms, the limit is ${subject.timeoutSeconds} s`);
		},
	},
	{
		id: "repeatable",
		needsVerdict: true,
		check: async ({ subject, plain }) => {
			// Three times: in mode `serve` the first of another process, then the first and the second of one.
			for (const again of [await subject.ask(PLAIN), await subject.ask(PLAIN)])
				if (words(again.ruling) !== words(plain.ruling))
					return failed(`the same request got ${words(plain.ruling)}, then ${words(again.ruling)}`);
			return ok("the same request gets the same answer");
		},
	},
	{
		id: "unknown-field",
		needsVerdict: true,
		check: async ({ subject, plain }) => {
			const { ruling } = await subject.askText(withFurther(PLAIN, subject.mode), PLAIN.id);
			return ruling.verdict === plain.ruling.verdict
				? ok("a key it does not know changes nothing")
				: failed(`a request with a further key got ${words(ruling)}, without it ${words(plain.ruling)}`);
		},
	},
	{
		id: "large-input",
		needsVerdict: true,
		check: async ({ subject }) => {
			const heard = await subject.ask(largeCall());
			return outcome(heard.ruling.verdict === "fault" ? heard : undefined, "it answers a request of 1.5 MiB");
		},
	},
	{
		id: "environment",
		needsVerdict: false,
		check: async ({ subject, plain }) => {
			if (plain.ruling.verdict !== "fault") return ok("the variables of the closed list are enough for it");
			const whole = subject.withWholeEnvironment();
			const { ruling } = await whole.ask(PLAIN);
			await whole.close();
			return ruling.verdict === "fault"
				? skipped("it gives no verdict on a plain request")
				: failed("it gives a verdict only with variables beyond the closed list: name them in `env` of tool_control");
		},
	},
];
