import { collectErrors, endChild, type GitChild, spawnGit } from "./command.ts";

/** Asks git which paths of a directory its `.gitignore` files exclude. */
export interface IgnoreJudge {
	/** One answer a path, relative to the directory; undefined for one that cannot be judged. */
	ignored(paths: readonly Buffer[]): Promise<readonly (boolean | undefined)[]>;
	close(): Promise<void>;
}

// A pattern made to be slow, or a pipe in the place of a `.gitignore`, must not stop a run.
const SILENCE_MS = 10_000;
const FIELDS = 4;
const PREFIX = Buffer.from("./");
const NUL = Buffer.alloc(1);

const COMMAND = ["check-ignore", "--stdin", "-z", "--verbose", "--non-matching", "--no-index"];

/** Cuts git's answers (source, line, pattern, path, each ended by NUL) into verdicts. */
const createVerdictParser = (verdict: (ignored: boolean) => void): ((chunk: Buffer) => void) => {
	let rest: Buffer = Buffer.alloc(0);
	let fields: Buffer[] = [];
	return (chunk) => {
		let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
		for (let end = bytes.indexOf(0); end >= 0; end = bytes.indexOf(0)) {
			fields.push(bytes.subarray(0, end));
			bytes = bytes.subarray(end + 1);
			if (fields.length < FIELDS) continue;
			const [source, , pattern] = fields;
			// A pattern that begins with "!" takes the path back in.
			verdict((source?.length ?? 0) > 0 && pattern?.[0] !== 0x21);
			fields = [];
		}
		rest = bytes;
	};
};

type Answer = (ignored: boolean | undefined) => void;

/** The child is started by the first question; once it died, nothing can be judged any more. */
export const createIgnoreJudge = (gitDir: string, dir: string): IgnoreJudge => {
	let waiting: Answer[] = [];
	let child: GitChild | undefined;
	let dead = false;
	let timer: NodeJS.Timeout | undefined;

	const watch = (): void => {
		clearTimeout(timer);
		if (waiting.length > 0) timer = setTimeout(() => child?.kill("SIGKILL"), SILENCE_MS);
	};
	const giveUp = (): void => {
		dead = true;
		clearTimeout(timer);
		const open = waiting;
		waiting = [];
		for (const answer of open) answer(undefined);
	};
	const start = (): GitChild => {
		const settings = ["core.bare=false", "core.excludesFile=/dev/null", "core.ignoreCase=false"];
		const started = spawnGit({ gitDir, command: COMMAND, settings, workTree: dir });
		collectErrors(started);
		started.stdout.on(
			"data",
			createVerdictParser((ignored) => waiting.shift()?.(ignored)),
		);
		started.stdout.on("data", watch);
		started.once("error", giveUp);
		started.once("close", giveUp);
		return started;
	};
	return {
		ignored: (paths) => {
			if (dead) return Promise.resolve(paths.map(() => undefined));
			child ??= start();
			const answers = paths.map(() => Promise.withResolvers<boolean | undefined>());
			for (const { resolve } of answers) waiting.push(resolve);
			watch();
			// "./" keeps a name that begins with a colon from being read as pathspec magic.
			child.stdin.write(Buffer.concat(paths.flatMap((path) => [PREFIX, path, NUL])));
			return Promise.all(answers.map(({ promise }) => promise));
		},
		close: async () => {
			clearTimeout(timer);
			if (child !== undefined) await endChild(child);
		},
	};
};
