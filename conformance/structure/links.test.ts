import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { ROOT, repositoryFiles } from "./files.ts";

verifies("structure-8", "every relative link of a page leads to a file", () => {
	const pages = repositoryFiles().filter((path) => path.endsWith(".md"));
	expect(pages.length).toBeGreaterThan(5);
	const broken = pages.flatMap((page) =>
		[...readFileSync(join(ROOT, page), "utf8").matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g)]
			.map((match) => match[1] ?? "")
			.filter((target) => !existsSync(join(ROOT, dirname(page), target)))
			.map((target) => `${page}: ${target}`),
	);
	expect(broken).toEqual([]);
});
