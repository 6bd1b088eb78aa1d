import type { IgnoreJudge } from "./ignore.ts";
import { bytesOf, kindOf, type Place, pathOf, type Status } from "./place.ts";
import { isSettled } from "./settled.ts";
import type { KnownDirectory } from "./snapshot-cache.ts";

/** What is in a directory, with its status. */
export interface Found {
	readonly name: string;
	readonly stat: Status;
}

/** Which `.gitignore` files have a say in a directory. */
export interface Rules {
	/** `never` where asking git could block on a pipe of that name. */
	readonly asking: "no" | "yes" | "never";
	/** Stands for all of them as they are; undefined where one may change unseen, so that no answer may be kept. */
	readonly key: string | undefined;
}

export const NO_RULES: Rules = { asking: "no", key: "" };

/** The rules in a directory, by those above it and what was found in it at `now`. */
export const rulesIn = (inherited: Rules, { path }: Place, found: readonly Found[], now: number): Rules => {
	const stat = found.find(({ name }) => name === ".gitignore")?.stat;
	if (inherited.asking === "never" || stat === undefined) return inherited;
	const kind = kindOf(stat);
	if (kind === "pipe" || kind === "device") return { asking: "never", key: undefined };
	// Of a link or a directory of that name git takes no notice.
	if (kind !== "file") return inherited;
	if (inherited.key === undefined || !isSettled(stat.ctimeNs, now)) return { asking: "yes", key: undefined };
	const { dev, ino, size, mtimeNs, ctimeNs } = stat;
	return { asking: "yes", key: `${inherited.key}/${path}\0${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}\0` };
};

/** The same name may be judged another way as a directory. */
const asked = ({ name, stat }: Found): string => (kindOf(stat) === "directory" ? `${name}/` : name);

/**
 * What of a directory its rules leave in. Git is asked, but for what it was asked before under the same rules. What it cannot
 * judge is left in (D5: recorded, not dropped).
 */
export const withoutIgnored = async <One extends Found>(
	judge: IgnoreJudge,
	place: Place,
	found: readonly One[],
	rules: Rules,
	last: KnownDirectory | undefined,
	next: KnownDirectory,
): Promise<readonly One[]> => {
	if (rules.asking !== "yes") return found;
	const key = rules.key === undefined ? undefined : `${rules.key}${place.path}`;
	const known = key !== undefined && last?.ignored?.key === key ? last.ignored.answers : new Map<string, boolean>();
	const open = found.filter((one) => !known.has(asked(one)));
	const answers = open.length === 0 ? [] : await judge.ignored(open.map(({ name }) => bytesOf(pathOf(place, name))));
	const judged = new Map(open.map((one, at) => [asked(one), answers[at]]));
	const verdicts = found.map((one) => known.get(asked(one)) ?? judged.get(asked(one)));
	if (key !== undefined) {
		const kept = new Map<string, boolean>();
		found.forEach((one, at) => {
			const verdict = verdicts[at];
			if (verdict !== undefined) kept.set(asked(one), verdict);
		});
		next.ignored = { key, answers: kept };
	}
	return found.filter((_, at) => verdicts[at] !== true);
};
