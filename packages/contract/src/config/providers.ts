import * as z from "zod";
import { closed } from "./shape.ts";
import { filledText, positiveInt } from "./terms.ts";

/** Why a model id cannot be used, or undefined: `tool` is the name of tool entries in a transcript (CONTRACTS §2). */
export const modelIdDefect = (model: string): string | undefined => {
	if (model.trim() === "") return "must name a model, it is blank";
	if (model.trim() !== model || /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u.test(model))
		return "must be one line without blanks at its ends, as a model's name is";
	return model === "tool" ? '"tool" cannot be a model\'s name: it names tool entries in a transcript' : undefined;
};

const modelId = z.string().superRefine((model, context) => {
	const why = modelIdDefect(model);
	if (why !== undefined) context.addIssue(why);
});

/** A tool's name becomes part of a file name, `lernie-tool-<name>` and `<name>.json`. */
export const isToolName = (name: string): boolean =>
	// biome-ignore lint/suspicious/noControlCharactersInRegex: that is what is looked for
	name !== "" && name !== "." && name !== ".." && !/[/\\\u0000-\u001f\u007f]/.test(name);

const toolNames = z
	.array(
		z
			.string()
			.refine(
				isToolName,
				"not a tool's name: it may not be empty, `.` or `..`, nor hold `/`, `\\` or control characters",
			),
	)
	.superRefine((names, context) => {
		for (const [index, name] of names.entries())
			if (names.indexOf(name) !== index) context.addIssue({ code: "custom", path: [index], message: "named twice" });
	});

const role = closed({
	provider: filledText("a row of models.yaml"),
	model: modelId,
	tools: toolNames,
	instructions: filledText("what the role is for").optional(),
	max_tokens: positiveInt.optional(),
	temperature: z.number().min(0).optional(),
	reasoning: z.json().optional(),
});

/** Role names stand in trailers and file names. */
const roleName = z
	.string()
	.regex(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/, "not a role's name: 1 to 64 letters, digits, `.`, `_` or `-`");

const MOVED = "belongs into models.yaml in the config root, which is machine-local; here only `roles`";

/** `providers.yaml` (CONTRACTS §8). */
export const providersSchema = closed({ roles: z.record(roleName, role) }, { providers: MOVED, models: MOVED });

export type ProvidersFile = z.infer<typeof providersSchema>;
export type RoleFile = z.infer<typeof role>;
