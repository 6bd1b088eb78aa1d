import { type Block, EXIT, type ExitCode, LernieError, TRAILER } from "@lernie/contract";
import { isUncontrolled } from "../../config/effective.ts";
import { readTip } from "../../drive/facts.ts";
import type { DriveContext } from "../../drive/session.ts";
import { unrecordedPlace } from "../../drive/working-directory.ts";
import { findAgent, listAgents, readName } from "../../workspace/address.ts";
import { messageBody } from "../../workspace/inbox.ts";
import { readCwd } from "../../workspace/marks.ts";
import { readTrailers, subjectOf, trailerValue } from "../../workspace/trailers.ts";
import { type EntryRef, entryNumber, listEntries, readBlocks, readMessage } from "../../workspace/transcript.ts";
import { excerpt, excerptLines, printable } from "../printable.ts";
import { inWorkspace, type World } from "../world.ts";

const SHOWN = 400;
const LINES = 12;

interface LogEntry {
	readonly number: number;
	readonly side: EntryRef["side"];
	readonly origin: string;
	readonly commit: string | null;
	readonly verdict: string | null;
	readonly json: string;
	readonly lines: readonly string[];
}

const blockLines = (block: Block): readonly string[] => {
	switch (block.type) {
		case "text":
			return block.text.split("\n").map(printable);
		case "tool_use":
			return [`→ ${printable(block.name)} ${excerpt(block.input, SHOWN)}`];
		case "tool_result": {
			const text = block.content.map((part) => part.text).join("");
			return excerptLines(text, LINES).map((line, index) => `${index > 0 ? " " : block.is_error ? "✗" : "✓"} ${line}`);
		}
		case "other":
			return [excerpt(block.json, SHOWN)];
		default:
			return block satisfies never;
	}
};

interface Committed {
	readonly commit: string;
	readonly verdict: string | null;
}

/** Which commit made which entry, from the tip back to the founding. */
const commitsByEntry = async ({ repo }: DriveContext, tip: string): Promise<ReadonlyMap<number, Committed>> => {
	const found = new Map<number, Committed>();
	for (let oid: string | undefined = tip; oid !== undefined; ) {
		const commit = await repo.commit(oid);
		const number = /^transcript (\d+): /.exec(subjectOf(commit.message))?.[1];
		if (number === undefined && subjectOf(commit.message).startsWith("step 001: dispatch")) break;
		if (number !== undefined) {
			const verdict = trailerValue(readTrailers(commit.message), TRAILER.verdict) ?? null;
			found.set(Number(number), { commit: oid, verdict });
		}
		oid = commit.parents[0];
	}
	return found;
};

const readLogEntry = async ({ repo }: DriveContext, ref: EntryRef, made: Committed | undefined): Promise<LogEntry> => {
	const { number, side, origin } = ref;
	const base = { number, side, origin, commit: made?.commit ?? null, verdict: made?.verdict ?? null };
	if (side === "user") {
		const text = messageBody(await readMessage(repo, ref));
		return { ...base, json: JSON.stringify([{ type: "text", text }]), lines: text.split("\n").map(printable) };
	}
	const { blocks } = await readBlocks(repo, ref);
	const raw = (await repo.blob(ref.oid)).toString("utf8");
	return { ...base, json: raw, lines: blocks.flatMap(blockLines) };
};

const toJson = ({ json, lines: _, ...entry }: LogEntry): string =>
	`${JSON.stringify(entry).slice(0, -1)},"content":${json}}`;

/** `log [agent]`: one agent's story in order; the only agent of the workspace where none is named. */
export const log = async (world: World, address: string | undefined): Promise<ExitCode> =>
	inWorkspace(world, async (context) => {
		const { repo } = context;
		const agents = await listAgents(repo);
		const only = agents.length === 1 ? agents[0]?.id : undefined;
		if (address === undefined && only === undefined)
			throw new LernieError("ADDRESS", `${agents.length} agents: name one. \`lernie ls\` shows them`, {
				agents: agents.length,
			});
		const agent = address === undefined && only !== undefined ? only : await findAgent(repo, address ?? "");
		const { commit, facts } = await readTip(repo, agent);
		const made = await commitsByEntry(context, commit.oid);
		if (!world.output.json) {
			const name = await readName(repo, commit.oid);
			const bounds = (await isUncontrolled(repo, facts.config)) ? "UNCONFINED, UNCONTROLLED" : "UNCONFINED";
			const place = unrecordedPlace(context.layout, agent, await readCwd(repo, agent));
			const where = place === undefined ? "" : `, works in ${printable(place)}, which is not recorded`;
			world.output.product(
				`agent ${agent} ${name}, role ${facts.role}, config ${facts.config.slice(0, 12)}, ${bounds}${where}\n`,
			);
		}
		for (const ref of await listEntries(repo, commit.oid)) {
			const entry = await readLogEntry(context, ref, made.get(ref.number));
			if (world.output.json) world.output.product(`${toJson(entry)}\n`);
			else {
				const verdict = entry.verdict === null ? "" : `  ${entry.verdict}`;
				const body = entry.lines.map((line) => `    ${line}`).join("\n");
				world.output.product(
					`${entryNumber(entry.number)} ${entry.origin}  ${entry.commit?.slice(0, 12) ?? ""}${verdict}\n${body}\n`,
				);
			}
		}
		return EXIT.done;
	});
