import { LernieError } from "@lernie/contract";

/** A new root id, `<YYYYMMDDTHHMMSSZ>-<8 hex>` (`spec/core.md` §7). */
export const mintAgentId = (now: Date, random: (bytes: number) => Buffer): string =>
	`${now.toISOString().slice(0, 19).replace(/[-:]/g, "")}Z-${random(4).toString("hex")}`;

const AGENT_ID = /^\d{8}T\d{6}Z-[0-9a-f]{8}(?:-\d{8}T\d{6}Z-[0-9a-f]{8})*$/;

export const isAgentId = (text: string): boolean => AGENT_ID.test(text);

/** The id an agent was dispatched by, or undefined for a root. Existence is for the refs to say. */
export const parentOf = (agent: string): string | undefined => {
	const tokens = agent.split("-");
	return tokens.length <= 2 ? undefined : tokens.slice(0, -2).join("-");
};

const FIRST = (
	"amber ashen azure bold brisk calm clear coral crisp dusky early fleet gentle golden hazel ivory jade keen lively " +
	"lunar mellow misty noble ochre olive pale plain quick quiet rapid rosy royal rustic sandy scarlet shady silent silver " +
	"slate sober solar solid stark steady still stone subtle sunny swift tidal tranquil upper urban vivid warm wild windy " +
	"winter wise young"
).split(" ");
const SECOND = (
	"alder anchor arrow aspen badger basin beacon birch bridge brook canyon cedar cliff comet cove crane creek delta dune " +
	"ember falcon fern field finch fjord forge gale garden glade grove harbor heron hill island lagoon lantern larch maple " +
	"marsh meadow mesa moor oak orchard otter pebble pine plover quarry raven reef ridge river sparrow spruce stream summit " +
	"thicket valley willow"
).split(" ");

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** A name nobody in `taken` wears: one random draw, then the next free pair of words. Throws `REFUSED` when none is left. */
export const mintName = (taken: ReadonlySet<string>, random: (bytes: number) => Buffer): string => {
	const count = FIRST.length * SECOND.length;
	const start = random(4).readUInt32BE() % count;
	for (let step = 0; step < count; step += 1) {
		const at = (start + step) % count;
		const first = FIRST[Math.floor(at / SECOND.length)] ?? "";
		const name = capital(first) + capital(SECOND[at % SECOND.length] ?? "");
		if (!taken.has(name)) return name;
	}
	throw new LernieError("REFUSED", "every name is taken. Choose one with --name");
};

/** Refuses a name that could not be told from a path or an id (`spec/core.md` §7.1). Throws `ARGUMENT`. */
export const checkName = (name: string, taken: ReadonlySet<string>): void => {
	const refuse = (why: string): never => {
		throw new LernieError("ARGUMENT", `the name ${JSON.stringify(name)}: ${why}. Give one word, such as "fix-login"`, {
			name,
		});
	};
	if (name === "" || name === "." || name === "..") refuse("it is not a word");
	if (/[\s/\\\0]/.test(name)) refuse("it holds a blank, a slash or a NUL");
	if (name.startsWith("-")) refuse("it begins like a flag");
	if (/[\p{Cc}\p{Cf}\p{Zs}\p{Zl}\p{Zp}\p{Cs}]/u.test(name)) refuse("it holds a character that cannot be seen");
	if (Buffer.byteLength(name) > 100) refuse("it is longer than 100 bytes");
	if (/^\d{8}T\d{6}Z$/.test(name.split("-")[0] ?? "")) refuse("it begins like an agent id");
	if (taken.has(name)) refuse("another agent has it");
};
