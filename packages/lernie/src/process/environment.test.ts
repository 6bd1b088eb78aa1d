import { expect, test } from "vitest";
import { childEnvironment } from "./environment.ts";

test("the list is closed: keys, sockets and code paths do not pass", () => {
	const env = {
		PATH: "/bin",
		LC_TIME: "C",
		LERNIE_HOME: "/h",
		OPENAI_API_KEY: "sk-1",
		SSH_AUTH_SOCK: "/s",
		NODE_OPTIONS: "-r x",
		LD_PRELOAD: "x.so",
		LERNIE_CRASH_AT: "tool.input",
		TERM: undefined,
	};
	expect(childEnvironment(env, { names: [], values: {} })).toEqual({ PATH: "/bin", LC_TIME: "C", LERNIE_HOME: "/h" });
});

test("named variables pass when they are set, and given values win", () => {
	const env = { EXTRA: "e", LERNIE_CALL: "stolen" };
	const passed = childEnvironment(env, { names: ["EXTRA", "UNSET", "LERNIE_CALL"], values: { LERNIE_CALL: "mine" } });
	expect(passed).toEqual({ EXTRA: "e", LERNIE_CALL: "mine" });
});

test("a variable named like a property of objects is a variable", () => {
	const env = Object.fromEntries([["__proto__", "p"]]);
	expect(Object.entries(childEnvironment(env, { names: ["__proto__"], values: {} }))).toEqual([["__proto__", "p"]]);
});
