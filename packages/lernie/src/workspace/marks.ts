import { type HoldMark, LernieError, markRef, readHoldMark } from "@lernie/contract";
import type { Repo } from "../git/repo.ts";
import type { Oid } from "../git/types.ts";

/** A hold mark and the blob it was read from, which is the old value a transaction compares with. */
export interface StandingMark {
	readonly oid: Oid;
	readonly mark: HoldMark | undefined;
}

/** The hold mark a ref points at, undefined where that is none (`spec/tools.md` §13.1). */
export const readMark = async (repo: Repo, oid: Oid): Promise<HoldMark | undefined> => {
	const { type, body } = await repo.read(oid);
	return type === "blob" ? readHoldMark(body.toString("utf8")) : undefined;
};

/** The hold mark of an agent: undefined where no ref is, `mark` undefined where it cannot be read. */
export const readHeld = async (repo: Repo, agent: string): Promise<StandingMark | undefined> => {
	const oid = await repo.resolve(markRef("held", agent));
	return oid === undefined ? undefined : { oid, mark: await readMark(repo, oid) };
};

/** The working directory an agent was moved to, as stored; it need not exist any more. */
export const readCwd = async (repo: Repo, agent: string): Promise<string | undefined> => {
	const oid = await repo.resolve(markRef("cwd", agent));
	if (oid === undefined) return undefined;
	try {
		return (await repo.blob(oid)).toString("utf8");
	} catch (thrown) {
		// A mark that cannot be read is none: the agent then works in its own directory.
		if (thrown instanceof LernieError) return undefined;
		throw thrown;
	}
};
