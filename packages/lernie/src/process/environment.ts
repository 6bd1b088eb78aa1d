/** An environment as Node gives it: a variable may be unset. */
export type Environment = Readonly<Record<string, string | undefined>>;

const ALLOWED: ReadonlySet<string> = new Set([
	"PATH",
	"HOME",
	"USER",
	"LOGNAME",
	"SHELL",
	"LANG",
	"TZ",
	"TMPDIR",
	"TERM",
	"LERNIE_HOME",
	"XDG_CONFIG_HOME",
	"XDG_DATA_HOME",
]);

/**
 * The closed environment of a tool, a control or an adapter (CONTRACTS §5): the allow-list and `LC_*`, the further
 * `names` an operator listed, and `values`, which win. Nothing else of `env` reaches a child (DESIGN D10).
 */
export const childEnvironment = (
	env: Environment,
	extra: { readonly names: readonly string[]; readonly values: Readonly<Record<string, string>> },
): Record<string, string> => {
	const named = new Set(extra.names);
	const passed = Object.entries(env).flatMap(([name, value]): [string, string][] =>
		value !== undefined && (ALLOWED.has(name) || name.startsWith("LC_") || named.has(name)) ? [[name, value]] : [],
	);
	return Object.fromEntries([...passed, ...Object.entries(extra.values)]);
};
