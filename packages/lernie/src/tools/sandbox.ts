/** A program to start, complete: nothing is looked up or inherited. */
export interface Command {
	readonly program: string;
	readonly args: readonly string[];
	readonly env: Readonly<Record<string, string>>;
	readonly cwd: string;
}

/** Confinement of a tool process (DESIGN §8): the command that runs `command` where it can reach no more than it may. */
export interface Sandbox {
	wrap(command: Command): Command;
}
