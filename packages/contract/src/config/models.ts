import * as z from "zod";
import { closed } from "./shape.ts";
import { envNames, filledText } from "./terms.ts";

const row = z.discriminatedUnion(
	"adapter",
	[
		closed({ adapter: z.literal("scripted"), script: filledText("a script file") }),
		closed({
			adapter: z.literal("command"),
			command: filledText("the adapter's executable"),
			row: filledText("the row the adapter is told").optional(),
			env: envNames.optional(),
		}),
		closed({
			adapter: z.literal("ai-sdk"),
			package: filledText("a provider package"),
			base_url: z.url("not a URL").optional(),
			api_key_env: z.string().optional(),
			options: z.record(z.string(), z.json()).optional(),
		}),
	],
	{ error: 'must be a mapping whose `adapter` is "scripted", "command" or "ai-sdk"' },
);

/** `models.yaml` (CONTRACTS §8): rows, or the reference's one adapter for every row, or nothing. */
export const modelsSchema = closed({
	adapter: filledText("the adapter's executable").nullable().optional(),
	providers: z.record(z.string().min(1), row).nullable().optional(),
}).refine(({ adapter, providers }) => adapter == null || providers == null, {
	path: ["adapter"],
	error: "stands alone: write the adapter of each row inside `providers`, or leave `providers` out",
});

export type ModelsFile = z.infer<typeof modelsSchema>;
export type ModelRowFile = z.infer<typeof row>;
