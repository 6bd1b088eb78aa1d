import * as z from "zod";
import { closed } from "./shape.ts";
import { NOT_IN_THIS_VERSION } from "./terms.ts";

/**
 * `manifest.yaml`. Agents get their transcript and nothing else in this version, so an entry that asks for more is
 * refused and not silently passed over.
 */
export const manifestSchema = closed({
	roles: z
		.record(z.string(), z.never({ error: `${NOT_IN_THIS_VERSION}: a request holds the transcript only` }))
		.nullable()
		.optional(),
});
