import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { run as runProgram, shell } from "../../process/fixtures/run.ts";
import { createWorld, inputOf, textOf, type World } from "../fixtures/world.ts";
import { BUILTINS } from "./pool.ts";

let world: World;
let calls = 0;
beforeEach(() => {
	world = createWorld();
});
afterEach(() => world.remove());

const call = async (name: string, input: string): Promise<string> => {
	calls += 1;
	return textOf(await world.run({ id: `t${calls}`, name, input }));
};
const failed = (name: string, reason: string): string =>
	`Exit code: 1\n--- stderr ---\nlernie tool ${name}: ${reason}\n`;

describe("bad input", () => {
	const good: Readonly<Record<string, Record<string, string>>> = {
		apply_patch: { input: "*** Begin Patch\n*** Add File: ran\n*** End Patch" },
		bash: { command: "touch ran" },
		cd: { path: "." },
		message: { agent: "b", content: "hello" },
		read_file: { path: "x" },
	};
	test.each(
		[...BUILTINS.keys()].flatMap((name): [string, string, string][] => {
			const keys = Object.keys(good[name] ?? {});
			const first = keys[0] ?? "";
			const whole = JSON.stringify(good[name]);
			return [
				[name, '{"', "a string was expected"],
				[name, '"text"', "not an object"],
				[name, "{}", `the key "${first}" is missing`],
				[name, whole.replace("{", '{"x":1,'), 'unknown key "x"'],
				[name, whole.replace("{", `{"${first}":"twice",`), "occurs twice"],
				[name, JSON.stringify({ ...good[name], [first]: 5 }), `"${first}" is not a string`],
				[name, JSON.stringify({ ...good[name], [first]: "\uD800" }), "unpaired surrogate"],
			];
		}),
	)("%s refuses %s", async (name, input, why) => {
		const text = await call(name, input);
		expect(text.startsWith(`Exit code: 1\n--- stderr ---\nlernie tool ${name}: invalid input JSON: `)).toBe(true);
		expect(text).toContain(why);
		expect([world.moved, world.sent]).toEqual([[], []]);
	});
});

describe("bash", () => {
	const bash = (command: string): Promise<string> => call("bash", inputOf({ command }));

	test("has an empty stdin and no terminal", async () => {
		expect(await bash("cat; test -t 0 || echo no tty")).toBe("Exit code: 0\nno tty\n");
	});

	test("reads no start-up file and sets the locale", async () => {
		expect(await bash('echo "$LC_ALL [$BASH_ENV] [$ENV] [$EXTRA] [$SECRET]"')).toBe(
			"Exit code: 0\nC.UTF-8 [] [] [e] []\n",
		);
	});

	test("keeps nothing from call to call", async () => {
		await bash("cd /; X=1");
		expect(await bash('pwd; echo "[$X]"')).toBe(`Exit code: 0\n${world.context.cwd}\n[]\n`);
	});

	test("the streams can be opened by name", async () => {
		expect(await bash("echo e > /dev/stderr; echo o | tee /dev/stdout")).toContain("--- stderr ---\ne\n");
	});

	test("without a shell says which one is missing", async () => {
		const outcome = await world.run(
			{ name: "bash", input: inputOf({ command: "true" }) },
			{ env: { PATH: "/nowhere" } },
		);
		expect(textOf(outcome)).toBe(failed("bash", "there is no bash on PATH; install bash to use this tool"));
	});
});

describe("read_file", () => {
	const read = (path: string): Promise<string> => call("read_file", inputOf({ path }));

	test("gives a file's exact bytes, relative to the working directory or absolute", async () => {
		writeFileSync(join(world.context.cwd, "f"), "no newline");
		expect(await read("f")).toBe("Exit code: 0\nno newline");
		expect(await read(join(world.context.cwd, "f"))).toBe("Exit code: 0\nno newline");
	});

	test("takes exactly the cap and not a byte more", async () => {
		writeFileSync(join(world.context.cwd, "cap"), Buffer.alloc(1_048_576));
		writeFileSync(join(world.context.cwd, "over"), Buffer.alloc(1_048_577));
		expect(await read("cap")).toContain("1048576 bytes / 1 lines total");
		expect(await read("over")).toContain("is 1048577 bytes, over the cap 1048576");
	});

	test("says what is not a file to read, without waiting for it", async () => {
		await runProgram({ program: "/usr/bin/mkfifo", args: [join(world.context.cwd, "pipe")] });
		mkdirSync(join(world.context.cwd, "d"));
		expect(await read("missing")).toBe(failed("read_file", "open missing: no such file"));
		expect(await read("d")).toBe(failed("read_file", "read d: it is a directory"));
		expect(await read("pipe")).toBe(failed("read_file", "read pipe: it is not a regular file"));
		expect(await read("/dev/zero")).toBe(failed("read_file", "read /dev/zero: it is not a regular file"));
		expect(await read("a\0b")).toContain("open a\0b:");
	});

	test("does not follow a link out of the working directory, but reads the same file by its own path", async () => {
		const outside = join(realpathSync(world.root), "outside");
		writeFileSync(outside, "there");
		symlinkSync(outside, join(world.context.cwd, "link"));
		symlinkSync(world.root, join(world.context.cwd, "up"));
		expect(await read("link")).toContain(`open link: it leads out of the working directory, to ${outside}`);
		expect(await read("up/outside")).toContain("leads out of the working directory");
		expect(await read(outside)).toBe("Exit code: 0\nthere");
		expect(await read("../../../outside")).toBe("Exit code: 0\nthere");
	});

	test("follows a link that stays inside", async () => {
		writeFileSync(join(world.context.cwd, "target"), "here");
		symlinkSync("target", join(world.context.cwd, "link"));
		expect(await read("link")).toBe("Exit code: 0\nhere");
	});
});

describe("cd", () => {
	const cd = (path: string): Promise<string> => call("cd", inputOf({ path }));

	test("resolves links and .. and stores the absolute directory", async () => {
		const real = realpathSync(world.root);
		mkdirSync(join(world.context.cwd, "sub"));
		symlinkSync("sub", join(world.context.cwd, "link"));
		expect(await cd("link/../sub")).toBe(`Exit code: 0\n${JSON.stringify({ cwd: join(real, "ws/agents/a/sub") })}`);
		await cd(world.root);
		expect(world.moved).toEqual([join(real, "ws/agents/a/sub"), real]);
	});

	test("stores nothing that is not a directory or would not be read back equal", async () => {
		writeFileSync(join(world.context.cwd, "file"), "");
		mkdirSync(join(world.context.cwd, "blank "));
		await shell("mkdir $'bad\\xff' && ln -s $'bad\\xff' bad", { cwd: world.context.cwd });
		expect(await cd("nowhere")).toBe(failed("cd", "nowhere: no such directory"));
		expect(await cd("file")).toBe(failed("cd", "file: not a directory"));
		expect(await cd("file/x")).toBe(failed("cd", "file/x: not a directory"));
		expect(await cd("blank ")).toContain("not storable");
		expect(await cd("bad")).toContain("not storable");
		expect(world.moved).toEqual([]);
	});
});

describe("message", () => {
	test("deposits literally, whatever it looks like", async () => {
		expect(await call("message", inputOf({ agent: "b", content: "--help" }))).toBe(
			'Exit code: 0\n{"status":"deposited"}',
		);
		expect(world.sent).toEqual([["b", "--help"]]);
	});

	test("passes on why it could not", async () => {
		expect(await call("message", inputOf({ agent: "nobody", content: "" }))).toBe(
			failed("message", 'there is no agent "nobody"'),
		);
	});
});
