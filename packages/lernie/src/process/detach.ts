import { spawn } from "node:child_process";

export interface DetachedCommand {
	readonly program: string;
	readonly args: readonly string[];
	readonly cwd: string;
	readonly env: Readonly<Record<string, string | undefined>>;
	/** Descriptor that becomes the child's stderr. */
	readonly stderr: number;
}

/** Starts a program in a session of its own and does not wait for it (`spec/core.md` §14.3). Rejects when it cannot be started. */
export const startDetached = (command: DetachedCommand): Promise<number> =>
	new Promise((resolve, reject) => {
		const child = spawn(command.program, command.args, {
			cwd: command.cwd,
			env: { ...command.env },
			detached: true,
			stdio: ["ignore", "ignore", command.stderr],
		});
		child.once("error", reject);
		child.once("spawn", () => {
			child.unref();
			resolve(child.pid ?? -1);
		});
	});
