import { posix } from "node:path";
import ts from "typescript";
import { filesBelow, packageNames, readText } from "./files.ts";

export interface Import {
	readonly specifier: string;
	/** The imported module's path from the root, for a relative specifier. */
	readonly target?: string;
	/** Erased before it runs: `import type`, `export type … from`, a type position. */
	readonly typeOnly: boolean;
}

export interface Module {
	/** From the repository's root, with `/`. */
	readonly path: string;
	readonly imports: readonly Import[];
	/** It does nothing but export what other modules hold. */
	readonly barrel: boolean;
}

const isReexport = (node: ts.Statement): boolean =>
	ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined && ts.isStringLiteral(node.moduleSpecifier);

const importsOf = (source: ts.SourceFile): { specifier: string; typeOnly: boolean }[] => {
	const found: { specifier: string; typeOnly: boolean }[] = [];
	const visit = (node: ts.Node): void => {
		if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
			const typeOnly = node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
			found.push({ specifier: node.moduleSpecifier.text, typeOnly });
		} else if (ts.isExportDeclaration(node) && node.moduleSpecifier && ts.isStringLiteral(node.moduleSpecifier)) {
			found.push({ specifier: node.moduleSpecifier.text, typeOnly: node.isTypeOnly });
		} else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
			const [argument] = node.arguments;
			if (argument && ts.isStringLiteralLike(argument)) found.push({ specifier: argument.text, typeOnly: false });
		} else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
			if (ts.isStringLiteral(node.argument.literal)) {
				found.push({ specifier: node.argument.literal.text, typeOnly: true });
			}
		}
		ts.forEachChild(node, visit);
	};
	visit(source);
	return found;
};

/** What one module imports, static, dynamic and as types; `path` is where it lies, `text` what it holds. */
export const parseModule = (path: string, text: string): Module => {
	const source = ts.createSourceFile(path, text, ts.ScriptTarget.ESNext);
	const imports = importsOf(source).map((found): Import => {
		if (!found.specifier.startsWith(".")) return found;
		return { ...found, target: posix.join(posix.dirname(path), found.specifier) };
	});
	return { path, imports, barrel: source.statements.length > 0 && source.statements.every(isReexport) };
};

/** Every module of every package. */
export const readModules = (): readonly Module[] =>
	filesBelow(...packageNames().map((name) => `packages/${name}/src`))
		.filter((path) => path.endsWith(".ts"))
		.map((path) => parseModule(path, readText(path)));
