import { closed, positiveInt } from "@lernie/contract/config";
import * as z from "zod";

const regex = z.string().superRefine((source, context) => {
	try {
		new RegExp(source);
	} catch (thrown) {
		if (!(thrown instanceof SyntaxError)) throw thrown;
		context.addIssue(`not a regular expression: ${thrown.message}`);
	}
});

const counter = z.int().min(0).nullable().optional();

const attempt = closed({
	error: closed({
		status: positiveInt.optional(),
		kind: z.enum(["usage", "parse_input", "config", "auth", "transport", "interrupted"]).optional(),
	}).refine(
		({ status, kind }) => (status === undefined) !== (kind === undefined),
		"must be {status: <number>} or {kind: <kind>}",
	),
	retry_after_seconds: z.number().min(0).optional(),
	message: z.string().optional(),
});

const tool = closed({
	id: z.string().optional(),
	name: z.string(),
	input: z.json().optional(),
	input_json: z.string().optional(),
}).refine(({ input, input_json }) => input === undefined || input_json === undefined, {
	path: ["input_json"],
	error: "stands for `input`; write one of them",
});

const ANSWER = ["think", "say", "tools", "usage", "finish"] as const;

const entry = closed({
	expect: closed({ tool_result: regex.optional(), user: regex.optional() }).optional(),
	attempts: z.array(attempt).optional(),
	think: z.string().optional(),
	say: z.string().optional(),
	tools: z.array(tool).optional(),
	usage: closed({
		input_tokens: counter,
		output_tokens: counter,
		cache_read_tokens: counter,
		cache_write_tokens: counter,
	}).optional(),
	finish: z.enum(["stop", "length", "refusal"]).optional(),
	delay_ms: z.number().min(0).optional(),
	stall: z.literal(true).optional(),
	events: z
		.array(
			z.union([z.string(), z.record(z.string(), z.json())], {
				error: "must be an event, or a text that is sent as it is",
			}),
		)
		.optional(),
}).superRefine((written, context) => {
	const whole = written.stall !== undefined ? "stall" : written.events !== undefined ? "events" : undefined;
	if (whole === undefined) return;
	const beside = [...ANSWER, ...(whole === "stall" ? (["events"] as const) : [])].find(
		(key) => written[key] !== undefined,
	);
	if (beside !== undefined)
		context.addIssue({ code: "custom", path: [beside], message: `\`${whole}\` is the whole answer; leave this out` });
});

/** The file that plays a model (CONTRACTS §9). */
export const scriptSchema = closed({
	calls: z.array(entry),
	// biome-ignore lint/suspicious/noThenProperty: the contract's name; a script is data and never awaited
	then: z.enum(["fail", "end", "repeat"]).optional(),
}).refine(({ calls, then }) => then !== "repeat" || calls.length > 0, {
	path: ["then"],
	error: "there is no entry to repeat",
});

export type Script = z.infer<typeof scriptSchema>;
export type ScriptEntry = z.infer<typeof entry>;
export type ScriptTool = z.infer<typeof tool>;
