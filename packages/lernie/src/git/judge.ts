import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runGit } from "./command.ts";
import { initRepo, openRepo } from "./repo.ts";

const refusal = (name: Buffer, stderr: string): string => {
	const finding = / in (?:blob|tree) [0-9a-f]{40}: ([A-Za-z]+):/.exec(stderr)?.[1];
	return `git refuses the content of ${name.toString("utf8")}${finding === undefined ? "" : ` (${finding})`}`;
};

/**
 * Why `git fsck --strict` refuses a `.gitmodules` or `.gitattributes` of this content, or undefined when it does not. Git
 * itself is asked, in a repository of its own, so that its rules are not copied here.
 */
export const judgeSpecialFile = async (name: Buffer, body: Buffer): Promise<string | undefined> => {
	const dir = mkdtempSync(join(tmpdir(), "lernie-judge-"));
	try {
		await initRepo(dir);
		const repo = openRepo(dir);
		const batch = repo.batch();
		batch.tree([{ mode: "100644", name, oid: batch.blob(body) }]);
		await batch.flush();
		await repo.close();
		const command = ["fsck", "--strict", "--no-dangling", "--no-progress"];
		const { code, stderr } = await runGit({ gitDir: dir, command });
		return code === 0 ? undefined : refusal(name, stderr);
	} finally {
		rmSync(dir, { recursive: true, force: true });
	}
};
