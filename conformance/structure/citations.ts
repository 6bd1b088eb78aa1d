import { join, posix } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { filesBelow, packageNames, ROOT, readText } from "./files.ts";

export interface Requirement {
	readonly id: string;
	readonly sentence: string;
	readonly spec: string;
}

export interface Citations {
	/** Ids written out in calls of `verifies`. */
	readonly ids: readonly string[];
	/** A call whose id is a field of a case: the ids are those of the case files that the test imports. */
	readonly fromCases: boolean;
	/** Case files that the test imports, as paths from the root. */
	readonly caseFiles: readonly string[];
}

const CASES = "conformance/cases/";

const literalIds = (node: ts.Expression): string[] | undefined => {
	if (ts.isStringLiteralLike(node)) return [node.text];
	if (!ts.isArrayLiteralExpression(node)) return undefined;
	const ids = node.elements.map((element) => (ts.isStringLiteralLike(element) ? element.text : undefined));
	return ids.every((id) => id !== undefined) ? ids : undefined;
};

/** What the test file at `path` with this text cites. */
export const citationsOf = (path: string, text: string): Citations => {
	const ids: string[] = [];
	const caseFiles: string[] = [];
	let fromCases = false;
	const visit = (node: ts.Node): void => {
		if (ts.isCallExpression(node) && ts.isIdentifier(node.expression) && node.expression.text === "verifies") {
			const [argument] = node.arguments;
			const literal = argument && literalIds(argument);
			if (literal) ids.push(...literal);
			else fromCases = true;
		} else if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
			const target = posix.join(posix.dirname(path), node.moduleSpecifier.text);
			if (target.startsWith(CASES)) caseFiles.push(target);
		}
		ts.forEachChild(node, visit);
	};
	visit(ts.createSourceFile(path, text, ts.ScriptTarget.ESNext));
	return { ids, fromCases, caseFiles };
};

/** The ids in a case module's exports: `id` (a string or a list) of each element of each exported array. */
export const idsInCases = (exported: Readonly<Record<string, unknown>>): string[] =>
	Object.values(exported)
		.filter((value) => Array.isArray(value))
		.flat()
		.flatMap((entry: unknown) => {
			const id = typeof entry === "object" && entry !== null && "id" in entry ? entry.id : undefined;
			return (Array.isArray(id) ? id : [id]).filter((one) => typeof one === "string");
		});

const testFiles = (): readonly string[] =>
	filesBelow(...packageNames().map((name) => `packages/${name}/src`), "conformance", "crash").filter((path) =>
		path.endsWith(".test.ts"),
	);

/** All requirements, with the file each stands in. */
export const readRequirements = (): readonly (Requirement & { readonly file: string })[] =>
	filesBelow("conformance/requirements")
		.filter((file) => file.endsWith(".json"))
		.flatMap((file) => (JSON.parse(readText(file)) as Requirement[]).map((entry) => ({ ...entry, file })));

/** Cited ids, each with the files that cite it, and citations that cannot be read. */
export const readCitations = async (): Promise<{ cited: Map<string, string[]>; unreadable: string[] }> => {
	const cited = new Map<string, string[]>();
	const unreadable: string[] = [];
	const add = (id: string, file: string): void => void cited.set(id, [...(cited.get(id) ?? []), file]);
	for (const path of testFiles()) {
		const { ids, fromCases, caseFiles } = citationsOf(path, readText(path));
		for (const id of ids) add(id, path);
		if (!fromCases) continue;
		if (caseFiles.length === 0)
			unreadable.push(`${path}: verifies() with an id that is neither written out nor of a case file`);
		for (const file of caseFiles) {
			const exported = (await import(pathToFileURL(join(ROOT, file)).href)) as Record<string, unknown>;
			for (const id of idsInCases(exported)) add(id, file);
		}
	}
	return { cited, unreadable };
};
