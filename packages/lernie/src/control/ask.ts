import { join } from "node:path";

const PLAIN = /^[A-Za-z0-9_./:@%+=,-]+$/;

/** A word as a shell reads it back. */
export const shellQuoted = (text: string): string => (PLAIN.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

/** The command a person types to let a call pass that the shipped control `lernie-control-ask` holds. */
export const approvalCommand = (workspace: string, digest: string): string =>
	`touch ${shellQuoted(join(workspace, "approved", digest))}`;
