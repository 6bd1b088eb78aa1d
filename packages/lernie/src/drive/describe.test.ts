import { expect } from "vitest";
import { verifies } from "../../../../conformance/support/verifies.ts";
import { type Fixture, withFixture } from "../git/fixture.ts";
import type { Oid, TreeEntry } from "../git/types.ts";
import { describeFromTree } from "./describe.ts";

type Files = { readonly [name: string]: string | Files };

/** Commits nested files and returns the commit. */
const commit = async ({ repo }: Fixture, files: Files): Promise<Oid> => {
	const batch = repo.batch();
	const tree = (part: Files): Oid =>
		batch.tree(
			Object.entries(part).map(([name, body]): TreeEntry => {
				if (typeof body === "string") return { mode: "100644", name: Buffer.from(name), oid: batch.blob(body) };
				return { mode: "40000", name: Buffer.from(name), oid: tree(body) };
			}),
		);
	const oid = batch.commit({ tree: tree(files), parents: [], message: "m", at: new Date(0) });
	await batch.flush();
	return oid;
};

const described = (tools: Files, skills: Files = {}): Files => ({ descriptions: { tools, skills } });

verifies("tools-189", "a schema that is no JSON, or a directory, is a fault that names the tool", () =>
	withFixture(async (fixture) => {
		for (const schema of ["{", "", { inner: "x" }]) {
			const tip = await commit(fixture, described({ "own.json": schema }));
			await expect(describeFromTree(fixture.repo, tip, "own")).rejects.toMatchObject({
				code: "TOOLSET",
				message: expect.stringContaining('tool "own": descriptions/tools/own.json'),
			});
		}
	}),
);

verifies("tools-190", "without a skill there is no description, and a malformed skill is a fault", () =>
	withFixture(async (fixture) => {
		const { repo } = fixture;
		const schema = { "own.json": '{ "type": "object", "10": 1.0 }' };
		const bare = await commit(fixture, described(schema, { "other.md": "x" }));
		expect(await describeFromTree(repo, bare, "own")).toEqual({
			name: "own",
			input_schema: '{"type":"object","10":1.0}',
		});
		const told = await commit(fixture, described(schema, { "own.md": "name: own\ndescription: Does it.\n" }));
		expect(await describeFromTree(repo, told, "own")).toMatchObject({ description: "Does it." });
		for (const skill of ["a: [", "just text", "description: 5\n", { inner: "x" }]) {
			const tip = await commit(fixture, described(schema, { "own.md": skill }));
			await expect(describeFromTree(repo, tip, "own")).rejects.toMatchObject({
				code: "TOOLSET",
				data: { tool: "own" },
			});
		}
	}),
);

verifies("tools-186", "a tool that nothing describes is undefined, and a name is never read as a path", () =>
	withFixture(async (fixture) => {
		const tip = await commit(fixture, { ...described({ "own.json": "{}" }), "x.json": "{}" });
		for (const name of ["missing", "", "../../x", "own.json/", "a\\b", "a\0b"])
			expect(await describeFromTree(fixture.repo, tip, name)).toBeUndefined();
	}),
);
