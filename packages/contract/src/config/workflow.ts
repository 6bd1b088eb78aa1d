import * as z from "zod";
import { closed } from "./shape.ts";
import { envNames, filledText, NOT_ENFORCED, NOT_IN_THIS_VERSION, positiveInt } from "./terms.ts";

export const CONTROL_TIMEOUT_MAX_SECONDS = 3600;
export const OUTPUT_BOUND_MAX_BYTES = 1024 * 1024;

const NO_CONTROL =
	"missing: every call a model makes is put in front of it. write `tool_control: {command: <path>}`, or `tool_control: none` for no control at all";

const commandControl = closed(
	{
		command: filledText("the control's executable"),
		mode: z.enum(["once", "serve"]).optional(),
		timeout_seconds: z.number().positive().max(CONTROL_TIMEOUT_MAX_SECONDS).optional(),
		env: envNames.optional(),
	},
	{ builtin: `${NOT_ENFORCED}: write \`command: <path>\`, or \`tool_control: none\`` },
);

const positive = (number: z.ZodNumber, what: string) => {
	const error = `must be ${what}, or \`unlimited\` written out`;
	return z.union([number.positive({ error }), z.literal("unlimited")], { error });
};

/** What a timer of Node can still hold. */
const SECONDS_MAX = 2_000_000;
const seconds = z.number().positive().max(SECONDS_MAX);

const outputBytes = z.int().min(0).max(OUTPUT_BOUND_MAX_BYTES);

/** `workflow.yaml` (CONTRACTS §8): no key but these, and nothing that this version would not do. */
export const workflowSchema = closed(
	{
		tool_control: z.union([z.literal("none"), commandControl], {
			error: ({ input }) =>
				input === undefined || input === null ? NO_CONTROL : "must be `none`, or a mapping with a `command`",
		}),
		sandbox: closed(
			{
				mode: z.enum(["auto", "off"], {
					error: ({ input }) => (input === "required" ? `"required" is ${NOT_ENFORCED}` : undefined),
				}),
			},
			{ network: NOT_ENFORCED, read: NOT_ENFORCED, write: NOT_ENFORCED },
		).optional(),
		limits: closed(
			{
				steps: positive(z.int(), "a whole number above 0").optional(),
				minutes: positive(z.number(), "a number above 0").optional(),
			},
			{ tokens: NOT_ENFORCED, usd: NOT_ENFORCED, children: NOT_ENFORCED, depth: NOT_ENFORCED },
		).optional(),
		retry: closed({
			max_attempts: positiveInt.optional(),
			base_ms: z.number().positive().optional(),
			cap_ms: z.number().positive().optional(),
			jitter: z.number().min(0).max(1).optional(),
		}).optional(),
		tool_output: closed({ head_bytes: outputBytes, tail_bytes: outputBytes }).optional(),
		tool_env: envNames.optional(),
		tool_timeout_seconds: seconds.optional(),
		tool_grace_seconds: seconds.optional(),
	},
	{
		events: NOT_IN_THIS_VERSION,
		compaction: NOT_IN_THIS_VERSION,
		budgets: `${NOT_IN_THIS_VERSION}: \`limits\` bounds a run`,
		verifier: NOT_IN_THIS_VERSION,
		notify: NOT_IN_THIS_VERSION,
		work: NOT_IN_THIS_VERSION,
	},
);

/** `workflow.yaml` as it was written, without the defaults. */
export type WorkflowFile = z.infer<typeof workflowSchema>;
