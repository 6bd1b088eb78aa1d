import { LernieError } from "@lernie/contract";
import { type ModelChoice, splitModel } from "../drive/governing.ts";

/** What `--model` names. Throws `ARGUMENT` where it is not a row and a model. */
export const modelFlag = (given: string): ModelChoice => {
	const choice = splitModel(given);
	if (choice !== undefined) return choice;
	const why = "not a row and a model. Give <row>/<model>, such as scripted/demo";
	throw new LernieError("ARGUMENT", `--model ${given}: ${why}`, { given });
};
