/** Bundles the commands into `packages/lernie/dist`. Runs on any Node from 20 on, so that `npm ci` works everywhere. */
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const entry = join(root, "packages/lernie/src/cli/main.ts");
const outdir = join(root, "packages/lernie/dist");

if (!existsSync(entry)) {
	process.stderr.write(`build: nothing to bundle: ${entry} does not exist\n`);
	process.exit(1);
}

// Built beside its place and swapped in: a command that starts meanwhile finds the old build or the new one.
const fresh = `${outdir}.${process.pid}`;
const stale = `${outdir}.${process.pid}.old`;
await build({
	entryPoints: { cli: entry },
	outdir: fresh,
	outExtension: { ".js": ".mjs" },
	absWorkingDir: root,
	bundle: true,
	format: "esm",
	splitting: true,
	platform: "node",
	target: "node22",
	// For Node `yaml` offers CommonJS only, which cannot be tree-shaken and has no named exports under `import()`.
	alias: { yaml: join(root, "node_modules/yaml/browser/index.js") },
	// ESM first where a package has both forms, for the same reason.
	mainFields: ["module", "main"],
	conditions: ["node", "import"],
	// CommonJS packages call `require` for builtins, which does not exist in an ESM file.
	banner: {
		js: 'import { createRequire as __createRequire } from "node:module";\nconst require = __createRequire(import.meta.url);',
	},
	legalComments: "none",
	logLevel: "warning",
});
if (existsSync(outdir)) renameSync(outdir, stale);
renameSync(fresh, outdir);
rmSync(stale, { recursive: true, force: true });
