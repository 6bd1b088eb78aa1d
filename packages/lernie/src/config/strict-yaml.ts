import { type ErrorCode, LernieError, strictUtf8 } from "@lernie/contract";
import { checkShape, type Problem, pathText } from "@lernie/contract/config";
import {
	type Document,
	isAlias,
	isMap,
	isNode,
	isPair,
	isScalar,
	isSeq,
	LineCounter,
	parseDocument,
	visit,
} from "yaml";
import type * as z from "zod";

/** What is wrong with a file, and where: `line` and `col` count from 1, `key` is empty for the whole document. */
interface FileError {
	readonly line: number;
	readonly col: number;
	readonly key: string;
	readonly why: string;
}

interface Found {
	readonly offset: number;
	readonly key: string;
	readonly why: string;
	/** Not there, as against there in a wrong way. */
	readonly absent?: boolean;
}

type Path = readonly (string | number)[];

/** An alias may not blow a short file up into a large one. */
const MAX_ALIASES = 100;

const startOf = (node: unknown): number | undefined => {
	if (!isNode(node)) return undefined;
	// An empty value has no place of its own that is worth pointing at.
	return isScalar(node) && node.value === null && (node.source ?? "") === "" ? undefined : node.range?.[0];
};

const offsetOf = (document: Document, path: Path, at: Problem["at"]): number => {
	let offset = startOf(document.contents) ?? 0;
	let node: unknown = document.contents;
	for (const [depth, part] of path.entries()) {
		const parent = isAlias(node) ? node.resolve(document) : node;
		if (isMap(parent)) {
			const pair = parent.items.find(({ key }) => isScalar(key) && String(key.value) === String(part));
			if (pair === undefined) return offset;
			node = pair.value;
			const keyed = at !== "value" && depth === path.length - 1 ? undefined : startOf(node);
			offset = keyed ?? startOf(pair.key) ?? offset;
		} else if (isSeq(parent) && typeof part === "number") {
			node = parent.items[part];
			offset = startOf(node) ?? offset;
		} else return offset;
	}
	return offset;
};

/** The key path of a pair from the nodes above it. */
const pathOf = (ancestors: readonly unknown[], key: string): Path => {
	const path: (string | number)[] = [];
	for (const [index, node] of ancestors.entries()) {
		if (isPair(node)) path.push(isScalar(node.key) ? String(node.key.value) : "?");
		if (isSeq(node)) path.push(node.items.indexOf(ancestors[index + 1] as (typeof node.items)[number]));
	}
	return [...path, key];
};

/** What a schema would never see: aliases of nothing, repeated keys, those that are no text, and the one JavaScript keeps for itself. */
const unseen = (document: Document): Found[] => {
	const found: Found[] = [];
	visit(document, {
		Alias(_, node) {
			if (node.resolve(document) !== undefined) return;
			found.push({ offset: startOf(node) ?? 0, key: "", why: `there is no anchor "&${node.source}" before this` });
		},
		Map(_, { items }, above) {
			const seen = new Set<string>();
			for (const { key } of items) {
				const offset = startOf(key) ?? 0;
				if (!isScalar(key)) {
					found.push({ offset, key: "", why: "a key must be a plain text" });
					continue;
				}
				const name = String(key.value);
				const path = pathText(pathOf([...above, undefined], name));
				if (seen.has(name)) found.push({ offset, key: path, why: "this key occurs twice" });
				else if (name === "__proto__") found.push({ offset, key: path, why: "unknown key" });
				seen.add(name);
			}
		},
	});
	return found;
};

const syntaxWhy = (code: string, message: string): string =>
	code === "MULTIPLE_DOCS"
		? "a second document begins here; one is read"
		: (message.split("\n")[0] ?? message).replace(/[:.]\s*$/, "");

const findings = (document: Document): readonly Found[] => {
	const broken = [...document.errors, ...document.warnings];
	if (broken.length > 0)
		return broken.map(({ pos, code, message }) => ({ offset: pos[0], key: "", why: syntaxWhy(code, message) }));
	return unseen(document);
};

const raise = (code: ErrorCode, file: string, lines: LineCounter, found: readonly Found[]): never => {
	// What is there in a wrong way comes before what is not there: a misspelt key explains the missing one.
	const errors = [...found]
		.sort((left, right) => Number(left.absent ?? false) - Number(right.absent ?? false) || left.offset - right.offset)
		.map(({ offset, key, why }): FileError => {
			const { line, col } = lines.linePos(offset);
			return { line: Math.max(line, 1), col: Math.max(col, 1), key, why };
		});
	const { line, col, key, why } = errors[0] ?? { line: 1, col: 1, key: "", why: "not valid" };
	const what = key === "" ? why : `${key}: ${why}`;
	throw new LernieError(code, `${file}:${line}:${col}: ${what}`, { file, line, col, key, errors });
};

/**
 * Reads one YAML document that must have the given shape, and nothing beside it (DESIGN D17). An empty document is an
 * empty mapping. Throws `code` with `<file>:<line>:<col>: <key.path>: <why>` (CONTRACTS §8) and every error in `data`.
 */
export const readYaml = <T>(schema: z.ZodType<T>, file: string, bytes: Uint8Array, code: ErrorCode = "CONFIG"): T => {
	const lines = new LineCounter();
	const text = strictUtf8(bytes);
	if (text === undefined) return raise(code, file, lines, [{ offset: 0, key: "", why: "not UTF-8" }]);
	// Repeated keys are looked for here and not by the library, whose message does not name them.
	const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
	const bad = findings(document);
	if (bad.length > 0) return raise(code, file, lines, bad);
	let value: unknown;
	try {
		value = document.toJS({ maxAliasCount: MAX_ALIASES });
	} catch (thrown) {
		if (!(thrown instanceof ReferenceError)) throw thrown;
		return raise(code, file, lines, [{ offset: 0, key: "", why: syntaxWhy("", thrown.message) }]);
	}
	const shaped = checkShape(schema, value ?? {});
	if (shaped.ok) return shaped.value;
	const found = shaped.problems.map(({ path, why, at }) => ({
		offset: offsetOf(document, path, at),
		key: pathText(path),
		why,
		absent: at === "parent",
	}));
	return raise(code, file, lines, found);
};
