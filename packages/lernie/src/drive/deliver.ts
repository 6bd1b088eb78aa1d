import { createHash } from "node:crypto";
import { TRAILER } from "@lernie/contract";
import { type Deposit, listDeposits, readDeposit, removeDeposit } from "../workspace/inbox.ts";
import { inboxDirectory } from "../workspace/layout.ts";
import { readTrailers, trailerValue } from "../workspace/trailers.ts";
import { commitEntry } from "./commit.ts";
import type { Tip } from "./facts.ts";
import type { Session } from "./session.ts";

const blobId = (body: Buffer): string =>
	createHash("sha1").update(`blob ${body.byteLength}\0`).update(body).digest("hex");

const depositTrailer = (file: string, body: Buffer): string => `${file} ${blobId(body)}`;

/**
 * Removes the inbox file that the tip already holds: a driver died between its commit and its unlink
 * (CONTRACTS §7). Any other file, a new one under the same name included, has other bytes and stays.
 */
export const removeDelivered = (session: Session, tip: Tip): void => {
	const recorded = trailerValue(readTrailers(tip.commit.message), TRAILER.deposit);
	if (recorded === undefined) return;
	const file = recorded.slice(0, recorded.lastIndexOf(" "));
	const inbox = inboxDirectory(session.layout, session.agent);
	removeDeposit(inbox, file, (body) => recorded === depositTrailer(file, body));
};

/** Moves every deposit into the transcript, one commit each, and removes it before the next commit (CONTRACTS §7). */
export const deliver = async (
	session: Session,
	tip: Tip,
	last: number,
): Promise<{ tip: Tip; delivered: readonly Deposit[] }> => {
	const inbox = inboxDirectory(session.layout, session.agent);
	const delivered = listDeposits(inbox);
	let at = tip;
	let number = last;
	for (const { file, sender } of delivered) {
		const body = readDeposit(inbox, file);
		number += 1;
		at = await commitEntry(session, at, {
			number,
			side: "user",
			origin: sender,
			body,
			trailers: [[TRAILER.deposit, depositTrailer(file, body)]],
			snapshot: false,
		});
		session.effects.crash("delivery.committed");
		removeDeposit(inbox, file, (there) => session.lease.intact() && there.equals(body));
		session.effects.crash("delivery.unlinked");
		// Who watches sees why the agent speaks again; the answer before it ends there. The first message is what they typed.
		if (number > 1) session.emit({ type: "notice", code: "DELIVERED", message: `delivered a message from ${sender}` });
	}
	return { tip: at, delivered };
};
