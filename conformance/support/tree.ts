import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { Workspace } from "./workspace.ts";

/** Paths with mode and blob id, the paths as latin1 so that any byte has a place. */
export type Listing = Readonly<Record<string, string>>;

const HARNESS = /^(messages|goal\.md|soul\.md|name|descriptions|summary)(\/|$)/;

const blobId = (body: Buffer): string => createHash("sha1").update(`blob ${body.length}\0`).update(body).digest("hex");

/** What a directory holds, as git would name it; `.git` is left out, and so is what is neither file nor link. */
export const directoryListing = (dir: string | Buffer, prefix = ""): Listing => {
	const found: Record<string, string> = {};
	for (const raw of readdirSync(dir, { encoding: "buffer" })) {
		const path = Buffer.concat([Buffer.from(dir), Buffer.from("/"), raw]);
		const [stat, key] = [lstatSync(path), prefix + raw.toString("latin1")];
		if (raw.toString("latin1") === ".git") continue;
		if (stat.isDirectory()) Object.assign(found, directoryListing(path, `${key}/`));
		else if (stat.isSymbolicLink()) found[key] = `120000 ${blobId(readlinkSync(path, { encoding: "buffer" }))}`;
		else if (stat.isFile()) found[key] = `${stat.mode & 0o100 ? "100755" : "100644"} ${blobId(readFileSync(path))}`;
	}
	return found;
};

/** The tree of a commit without the harness's own paths. */
export const workListing = (ws: Workspace, commit: string): Listing =>
	Object.fromEntries(
		ws
			.gitBytes("ls-tree", "-r", "-z", commit)
			.toString("latin1")
			.split("\0")
			.filter((line) => line !== "")
			.map((line) => {
				const tab = line.indexOf("\t");
				const [mode, , oid] = line.slice(0, tab).split(" ");
				return [line.slice(tab + 1), `${mode} ${oid}`] as const;
			})
			.filter(([path]) => !HARNESS.test(path)),
	);

export const agentDirectory = (ws: Workspace, agent: string): string => join(ws.dir, "agents", agent);

/** Every path below a directory with its kind and size, to compare before and after. */
export const everything = (dir: string): readonly string[] =>
	readdirSync(dir, { recursive: true, encoding: "utf8" })
		.map((path) => {
			const stat = lstatSync(join(dir, path));
			return stat.isFile() ? `${path} ${stat.size}` : `${path}/`;
		})
		.sort();
