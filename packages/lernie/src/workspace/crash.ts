import { ENV, LernieError } from "@lernie/contract";

/** Points of the driver at which a test can kill it (CONTRACTS §12). The order is the one of a drive. */
export const CRASH_SITES = [
	"deposit.written",
	"delivery.committed",
	"delivery.unlinked",
	"found.objects",
	"found.refs",
	"found.directory",
	"owner.written",
	"call.request",
	"call.first-byte",
	"call.sealed",
	"entry.objects",
	"entry.ref",
	"consult.sent",
	"consult.answered",
	"mark.written",
	"mark.cleared",
	"tool.input",
	"tool.spawned",
	"tool.process",
	"patch.written",
	"tool.exited",
	"tool.output",
	"snapshot.done",
	"result.ref",
	"release.before",
	"release.after",
] as const;

export type CrashSite = (typeof CRASH_SITES)[number];

export type CrashPoint = (site: CrashSite) => void;

/**
 * The crash points of this process: `LERNIE_CRASH_AT=<site>[#n]` kills it with SIGKILL the n-th time it passes `site`.
 * Unset, they do nothing. Throws `USAGE` on a site that does not exist, so that a test cannot pass by a typing error.
 */
export const createCrashPoints = (env: Readonly<Record<string, string | undefined>>): CrashPoint => {
	const wanted = env[ENV.crashAt];
	if (wanted === undefined || wanted === "") return () => undefined;
	const [site, count] = wanted.split("#");
	if (!CRASH_SITES.some((known) => known === site))
		throw new LernieError("USAGE", `${ENV.crashAt}: there is no crash site ${JSON.stringify(site)}`);
	let left = count === undefined ? 1 : Number(count);
	if (!Number.isInteger(left) || left < 1)
		throw new LernieError("USAGE", `${ENV.crashAt}: ${JSON.stringify(count)} is not a count`);
	return (passed) => {
		if (passed !== site) return;
		left -= 1;
		if (left === 0) process.kill(process.pid, "SIGKILL");
	};
};
