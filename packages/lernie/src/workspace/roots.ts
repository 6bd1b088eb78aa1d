import { join, resolve } from "node:path";
import { ENV, LernieError } from "@lernie/contract";

export interface Roots {
	readonly config: string;
	readonly data: string;
}

/**
 * The config root and the data root (`spec/tools.md` §2.3). `LERNIE_HOME` replaces both; an empty variable counts as
 * unset. Throws `CONFIG` where neither an override, an XDG variable nor a home directory says where they are.
 */
export const findRoots = (env: Readonly<Record<string, string | undefined>>): Roots => {
	const given = (name: string): string | undefined => (env[name] === "" ? undefined : env[name]);
	const both = given(ENV.home);
	if (both !== undefined) return { config: resolve(both), data: resolve(both) };
	const home = given("HOME");
	const under = (name: string, fallback: string): string => {
		const base = given(name) ?? (home === undefined ? undefined : join(home, fallback));
		if (base === undefined)
			throw new LernieError(
				"CONFIG",
				`no ${name}, no ${ENV.home} and no HOME: set one of them to say where lernie keeps its files`,
			);
		return resolve(base, "lernie");
	};
	return { config: under("XDG_CONFIG_HOME", ".config"), data: under("XDG_DATA_HOME", ".local/share") };
};
