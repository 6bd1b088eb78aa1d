import { execFileSync } from "node:child_process";
import { dirname } from "node:path";
import { expect } from "vitest";
import { ROOT, readText } from "../structure/files.ts";
import { createPlace, LAUNCHER } from "../support/place.ts";
import { verifies } from "../support/verifies.ts";

/** The first block of commands below a heading of a page. */
const commandsBelow = (page: string, heading: string): string => {
	const text = readText(page);
	const found = /\n```\n(.*?)\n```\n/s.exec(text.slice(text.indexOf(`\n${heading}\n`)));
	if (found?.[1] === undefined) throw new Error(`${page} has no commands below "${heading}"`);
	return found[1];
};

verifies("model-command-example", "the example of the page runs as it is written there", () => {
	const place = createPlace();
	const commands = commandsBelow("docs/models.md", "## A program as a model");
	expect(commands).toContain("docs/examples/model.py");
	const npx = `set -e\nnpx() { shift; "${process.execPath}" "${LAUNCHER}" "$@"; }\n`;
	const out = execFileSync("bash", ["-c", `${npx}${commands}`], {
		cwd: ROOT,
		env: {
			PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}`,
			HOME: place.path("person"),
			TMPDIR: place.root,
		},
		encoding: "utf8",
		stdio: ["ignore", "pipe", "pipe"],
	});
	expect(out).toBe(`${place.path("person/trial")}\nI look around.\nI got: Exit code: 0\n`);
});
