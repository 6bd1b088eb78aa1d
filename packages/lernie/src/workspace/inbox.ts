import { readdirSync, readFileSync, statSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { errnoOf } from "@lernie/contract";
import { createDurable, makeDirectory } from "./durable.ts";
import { type Effects, timestamp } from "./effects.ts";
import { inboxDirectory, type Layout } from "./layout.ts";

/** A message file that lies in an inbox, not yet part of the transcript. */
export interface Deposit {
	/** `<sender>-<NNN>.md` */
	readonly file: string;
	readonly sender: string;
	readonly modified: bigint;
}

/** A sender is `user` or an agent's id; a file of any other name was not deposited. */
const DEPOSIT = /^([A-Za-z0-9]+(?:-[A-Za-z0-9]+)*)-(\d{3,9})\.md$/;

/** The sender a person has. */
export const PERSON = "user";

/** The clock of files is coarse: of one sender's deposits of the same moment the smaller number came first. */
const inOrder = (a: Deposit, b: Deposit): number => {
	if (a.modified !== b.modified) return a.modified < b.modified ? -1 : 1;
	// Of one sender a longer name has a larger number.
	if (a.sender === b.sender && a.file.length !== b.file.length) return a.file.length - b.file.length;
	return a.file < b.file ? -1 : 1;
};

/** The deposits of one inbox in the order they will be delivered: modification time, then name (`spec/core.md` §12.2). */
export const listDeposits = (inbox: string): readonly Deposit[] => {
	let names: string[];
	try {
		names = readdirSync(inbox);
	} catch (thrown) {
		if (errnoOf(thrown) === "ENOENT") return [];
		throw thrown;
	}
	return names
		.flatMap((file) => {
			const sender = DEPOSIT.exec(file)?.[1];
			const stat =
				sender === undefined ? undefined : statSync(join(inbox, file), { bigint: true, throwIfNoEntry: false });
			if (sender === undefined || stat === undefined || !stat.isFile()) return [];
			return [{ file, sender, modified: stat.mtimeNs }];
		})
		.sort(inOrder);
};

const nextNumber = (inbox: string, sender: string): number =>
	readdirSync(inbox).reduce((largest, file) => {
		const match = DEPOSIT.exec(file);
		return match?.[1] === sender ? Math.max(largest, Number(match[2])) : largest;
	}, 0) + 1;

/** The bytes of a message file; the random line keeps any two apart (CONTRACTS §7). */
const messageText = (sender: string, body: string, effects: Pick<Effects, "now" | "random">): string =>
	`---\nfrom: ${sender}\ndeposited_at: ${timestamp(effects.now())}\ndeposit: ${effects.random(8).toString("hex")}\n---\n${body}`;

/** What a person wrote, without the front matter that was put before it. */
export const messageBody = (text: string): string => {
	const end = text.startsWith("---\n") ? text.indexOf("\n---\n", 3) : -1;
	return end === -1 ? text : text.slice(end + 5);
};

/**
 * Puts a message into an agent's inbox: durable when it returns, never over another one (`spec/core.md` §12.1).
 * The caller has made sure that the agent exists or is being founded. Returns the file's name.
 */
export const deposit = (
	layout: Layout,
	message: { readonly agent: string; readonly sender: string; readonly body: string },
	effects: Pick<Effects, "now" | "random" | "crash">,
): string => {
	const inbox = inboxDirectory(layout, message.agent);
	makeDirectory(inbox);
	const text = messageText(message.sender, message.body, effects);
	const temporary = join(inbox, `.${effects.random(8).toString("hex")}.tmp`);
	for (;;) {
		const file = `${message.sender}-${String(nextNumber(inbox, message.sender)).padStart(3, "0")}.md`;
		try {
			createDurable(join(inbox, file), temporary, text);
			effects.crash("deposit.written");
			return file;
		} catch (thrown) {
			if (errnoOf(thrown) !== "EEXIST") throw thrown;
		}
	}
};

export const readDeposit = (inbox: string, file: string): Buffer => readFileSync(join(inbox, file));

/**
 * Removes a message if it is the one that was delivered: names are used again once they are free, so its bytes decide. One
 * that is gone already is fine.
 */
export const removeDeposit = (inbox: string, file: string, isDelivered: (body: Buffer) => boolean): void => {
	const path = join(inbox, file);
	try {
		if (statSync(path).isFile() && isDelivered(readDeposit(inbox, file))) unlinkSync(path);
	} catch (thrown) {
		if (errnoOf(thrown) !== "ENOENT") throw thrown;
	}
};
