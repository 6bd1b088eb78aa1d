import { accessSync, constants, statSync } from "node:fs";
import { errnoOf, LernieError } from "@lernie/contract";

/**
 * Refuses a control that is named on the command line and is not there: `named` is how it was, for the message. One that
 * goes missing later is a fault of its consult. Throws `REFUSED`.
 */
export const checkControlFile = (path: string, named: string): void => {
	const refuse = (why: string): LernieError =>
		new LernieError("REFUSED", `${named}: ${why}. Give a program`, { control: path });
	try {
		if (!statSync(path).isFile()) throw refuse("not a file");
		accessSync(path, constants.X_OK);
	} catch (thrown) {
		if (thrown instanceof LernieError) throw thrown;
		throw refuse(errnoOf(thrown) === "ENOENT" ? "no such file" : "not an executable file");
	}
};
