import { LernieError } from "@lernie/contract";
import { runGit } from "./command.ts";

/** What `git log --oneline <ref>` prints: the record as anybody with git reads it. Throws `GIT` where git cannot. */
export const logOneline = async (gitDir: string, ref: string): Promise<string> => {
	const { code, stdout, stderr } = await runGit({ gitDir, command: ["log", "--oneline", "--no-decorate", ref, "--"] });
	if (code !== 0) throw new LernieError("GIT", `git log ${ref}: ${stderr.trim()}`, { ref });
	return stdout.toString("utf8");
};
