/**
 * Names that git gives a meaning to, in every spelling that a case-folding file system takes for them.
 * `fsck --strict` refuses trees by these rules (git's `path.c` and `utf8.c`), so they are followed to the byte.
 * All patterns work on latin1 text: one character a byte.
 */

/** Code points that HFS+ ignores, in UTF-8. */
const IGNORED = "(?:\\xe2\\x80[\\x8c-\\x8f\\xaa-\\xae]|\\xe2\\x81[\\xaa-\\xaf]|\\xef\\xbb\\xbf)*";

/** A character git can decode; what it cannot decode ends a name for it. */
const DECODABLE =
	"(?:[\\x00-\\x7f]|[\\xc2-\\xdf][\\x80-\\xbf]|\\xe0[\\xa0-\\xbf][\\x80-\\xbf]|\\xed[\\x80-\\x9f][\\x80-\\xbf]" +
	"|\\xef\\xbf(?!\\xbe|\\xbf)[\\x80-\\xbf]|\\xef[\\x80-\\xbe][\\x80-\\xbf]|[\\xe1-\\xec\\xee][\\x80-\\xbf]{2}" +
	"|\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}|[\\xf1-\\xf3][\\x80-\\xbf]{3}|\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2})";

// No `i` flag: in latin1 text it would also fold the high bytes.
const letters = (word: string): string[] =>
	[...word].map((letter) => (/[a-z]/.test(letter) ? `[${letter}${letter.toUpperCase()}]` : letter));

const fold = (word: string): string => letters(word).join("");

const hfs = (word: string): string => `\\.${IGNORED}${letters(word).join(IGNORED)}${IGNORED}(?!${DECODABLE})`;

/** NTFS short names: the first six letters and a number, or letters of a hash and a number, eight characters in all. */
const shortNames = (word: string, hashed: string): string[] => [
	`${fold(word.slice(0, 6))}~[1-4]`,
	...Array.from({ length: 7 }, (_, kept) => `${fold(hashed.slice(0, kept))}~[1-9][0-9]{${6 - kept}}`),
];

const ntfs = (names: readonly string[], end: string): string => `(?:${names.join("|")})[. ]*(?:$|${end})`;

/** An NTFS path may also begin after any backslash. */
const pattern = (hfsForm: string, ntfsForm: string): RegExp =>
	new RegExp(`^(?:${IGNORED}${hfsForm}|(?:[^]*\\\\)?${ntfsForm})`);

const ofFile = (word: string, hashed: string): RegExp =>
	pattern(hfs(word), ntfs([`\\.${fold(word)}`, ...shortNames(word, hashed)], ":"));

const DOT_GIT = pattern(hfs("git"), ntfs([`\\.${fold("git")}`, `${fold("git")}~1`], "[:\\\\]"));
const MODULES = ofFile("gitmodules", "gi7eba");
const ATTRIBUTES = ofFile("gitattributes", "gi7d29");

// ".", "g", "~", or the first byte of an ignored code point: nothing else can begin such a name.
const SUSPECT: ReadonlySet<number> = new Set([0x2e, 0x47, 0x67, 0x7e, 0xe2, 0xef]);

const isSuspect = (name: string): boolean => SUSPECT.has(name.charCodeAt(0)) || name.includes("\\");

/** Whether `fsck --strict` takes a name, bytes as latin1, for git's own directory (`.GIT`, `git~1`, `.git `, …). */
export const isDotGit = (name: string): boolean => isSuspect(name) && DOT_GIT.test(name);

/** Which file that git itself reads a name, bytes as latin1, stands for in any spelling. */
export const specialName = (name: string): "gitmodules" | "gitattributes" | undefined => {
	if (!isSuspect(name)) return undefined;
	if (MODULES.test(name)) return "gitmodules";
	return ATTRIBUTES.test(name) ? "gitattributes" : undefined;
};
