import { spawn } from "node:child_process";
import { LernieError } from "@lernie/contract";

/** Exit code of the helper; null where a signal ended it. */
const runFlock = (args: readonly string[], fd: number): Promise<number | null> =>
	new Promise((resolve, reject) => {
		// In a session of its own: an interrupt at a terminal is for this process alone.
		const child = spawn("flock", [...args, "3"], { detached: true, stdio: ["ignore", "ignore", "ignore", fd] });
		child.on("error", (cause) =>
			reject(new LernieError("PLATFORM", "the command flock (util-linux) could not be started", {}, cause)),
		);
		child.on("close", resolve);
	});

const TRIES = 5;

/** Between its fork and its session an interrupt can still end the helper, which then says nothing about the lock. */
const flock = async (args: readonly string[], fd: number): Promise<number> => {
	for (let tries = 1; ; tries += 1) {
		const code = await runFlock(args, fd);
		if (code !== null || tries === TRIES) return code ?? -1;
	}
};

/**
 * Takes the kernel lock on an open file description, waiting up to `seconds` (0: not at all): true when it is ours, false
 * when another holds it. The lock stays with `fd` after the helper exits and is dropped by the kernel when this process
 * dies (DESIGN §11).
 */
export const tryLock = async (fd: number, seconds: number): Promise<boolean> => {
	const code = await flock(["-x", ...(seconds === 0 ? ["-n"] : ["-w", String(seconds)])], fd);
	if (code === 0) return true;
	if (code === 1) return false;
	throw new LernieError("LEASE", `flock ended with code ${code}`, { code });
};

/** Drops the lock of the description itself, so that a descriptor some child still holds cannot keep it. */
export const unlock = async (fd: number): Promise<void> => {
	const code = await flock(["-u"], fd);
	if (code !== 0) throw new LernieError("LEASE", `flock -u ended with code ${code}`, { code });
};
