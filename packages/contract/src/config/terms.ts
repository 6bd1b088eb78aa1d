import * as z from "zod";

export const NOT_IN_THIS_VERSION = "not in this version";
export const NOT_ENFORCED = "not enforced yet";

export const positiveInt = z.int().positive();

/** A text with something in it besides blanks, and nothing that no path or name can hold. */
export const filledText = (what: string) =>
	z
		.string()
		.refine((text) => text.trim() !== "", `must name ${what}, it is blank`)
		.refine((text) => !text.includes("\0"), `must name ${what}, it holds a NUL`);

/** Names of environment variables, as handed on to a child (DESIGN D10). */
export const envNames = z.array(
	z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "not a name of an environment variable; write names, without values"),
);
