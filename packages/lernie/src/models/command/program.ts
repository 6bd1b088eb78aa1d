import { accessSync, constants, existsSync, statSync } from "node:fs";
import { errnoOf, LernieError } from "@lernie/contract";

/** The program of a row, as far as an error has to name it. */
export interface RowProgram {
	readonly row: string;
	/** Absolute. */
	readonly program: string;
}

const MISSING =
	"no such file. write an absolute path in models.yaml, or one relative to its directory; PATH is not searched";

const reasonOf = (program: string, errno: string | undefined, message: string): string => {
	if (errno === "ENOENT")
		return existsSync(program) ? "its first line names an interpreter that is not there" : MISSING;
	return errno === "EACCES" ? "not an executable file" : message;
};

/** The fault of a program that cannot be started; it is not one of the model's, and another try does not mend it. */
export const programFault = (
	{ row, program }: RowProgram,
	{ errno, message }: { readonly errno: string | undefined; readonly message: string },
): LernieError =>
	new LernieError(
		"MODEL_COMMAND",
		`model row ${JSON.stringify(row)}: ${program} cannot be started: ${reasonOf(program, errno, message)}`,
		{ row, program, errno },
	);

/** Throws `MODEL_COMMAND` where the program is missing or no executable file. */
export const checkProgram = (row: RowProgram): void => {
	try {
		accessSync(row.program, constants.X_OK);
	} catch (thrown) {
		throw programFault(row, { errno: errnoOf(thrown), message: String(thrown) });
	}
	if (!statSync(row.program).isFile()) throw programFault(row, { errno: "EACCES", message: "" });
};
