import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ProcessRecord } from "@lernie/contract";
import { afterAll, expect, test, vi } from "vitest";
import { faultOf } from "../../config/fixture.ts";
import type { CommandRow } from "../../config/models-file.ts";
import { eventually } from "../../process/fixtures/run.ts";
import { isDead, readStat } from "../../process/identity.ts";
import { type CallFixture, withCall } from "../fixture.ts";
import type { ModelAdapter } from "../types.ts";
import { createCommandAdapter } from "./adapter.ts";

const BEGIN = '{"type":"message_start","v":1}';
const SAY = '{"type":"content_start","index":0,"kind":{"text":{"text":"hi"}}}';
const END = '{"type":"end"}';

const alive = (pid: number): boolean => {
	const stat = readStat(pid);
	return stat !== undefined && !isDead(stat);
};

// Processes that are waited for, on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000 });
afterAll(() => vi.resetConfig());

interface Program {
	readonly adapter: ModelAdapter;
	readonly path: string;
	/** Groups that were noted, and those of them that were taken back. */
	readonly noted: ProcessRecord[];
	readonly forgotten: ProcessRecord[];
	/** Pid that the program wrote into the file `pid` of its place. */
	pid(name?: string): Promise<number>;
}

/** A program in shell as the model of the row `own`; `$here` is the fixture's directory, and nobody waits long. */
const programIn = ({ directory }: CallFixture, body: string, row: Partial<CommandRow> = {}): Program => {
	const path = join(directory, "program");
	writeFileSync(path, `#!/bin/bash\nhere=${directory}\n${body}\n`);
	chmodSync(path, 0o755);
	const noted: ProcessRecord[] = [];
	const forgotten: ProcessRecord[] = [];
	const patience = { graceMs: 300, lingerMs: 300 };
	const adapter = createCommandAdapter(
		{ kind: "command", row: "own", program: path, provider: "own", env: [], ...row },
		{
			env: { PATH: process.env.PATH, GIVEN: "given", SECRET: "secret" },
			workspace: directory,
			agent: "agent-1",
			track: (group) => {
				noted.push(group);
				return () => forgotten.push(group);
			},
		},
		patience,
	);
	const pid = async (name = "pid"): Promise<number> => {
		const file = join(directory, name);
		return eventually(() => existsSync(file) && Number(readFileSync(file, "utf8").trim()));
	};
	return { adapter, path, noted, forgotten, pid };
};

const lines = (...items: readonly string[]): string => items.map((item) => `echo '${item}'`).join("\n");

test("the answer of a program is the message; its exit code says nothing", () =>
	withCall(async (fixture) => {
		const { adapter, noted, forgotten } = programIn(fixture, `${lines(BEGIN, SAY, END)}\nexit 7`);
		expect((await fixture.call(adapter)).blocks).toEqual([{ type: "text", text: "hi" }]);
		expect(fixture.response()).toEqual([BEGIN, SAY, END]);
		expect(noted).toHaveLength(1);
		expect(forgotten).toEqual(noted);
	}));

test("a stream that breaks off says how the program ended", () =>
	withCall(async (fixture) => {
		const broken = async (body: string): Promise<string> =>
			(await faultOf(() => fixture.call(programIn(fixture, body).adapter))).message;
		expect(await broken(`${lines(BEGIN)}\necho why >&2\nexit 7`)).toMatch(/broke off \(exit code 7\); its stderr: why/);
		expect(await broken(`${lines(BEGIN)}\nkill -SEGV $$`)).toContain("broke off (signal SIGSEGV); ");
		expect(await broken(`${lines(BEGIN)}\nprintf '${END}'`)).toContain("broke off (inside a line, exit code 0); ");
	}));

test("a torn last line is kept and is no event", () =>
	withCall(async (fixture) => {
		const { adapter } = programIn(fixture, `${lines(BEGIN, SAY)}\nprintf '%s' '${END}'`);
		expect((await faultOf(() => fixture.call(adapter))).code).toBe("MODEL_HALF_STREAM");
		expect(fixture.read("response.json")).toBe(`${BEGIN}\n${SAY}\n${END}`);
	}));

test("a torn line of one attempt does not touch the next", () =>
	withCall(async (fixture) => {
		const error = '{"type":"error","kind":"transport","message":"m"}';
		const body = `if [ -e $here/once ]; then\n${lines(BEGIN, END)}\nelse\ntouch $here/once\n${lines(error)}\nprintf x\nfi`;
		await fixture.call(programIn(fixture, body).adapter);
		expect(fixture.response()).toEqual([error, "x", BEGIN, END]);
	}));

test("a line that is not UTF-8 is malformed and recorded byte for byte", () =>
	withCall(async (fixture) => {
		const { adapter } = programIn(fixture, `${lines(BEGIN)}\nprintf '"\\xff"\\n'\n${lines(END)}`);
		expect((await faultOf(() => fixture.call(adapter))).message).toContain("malformed event (not UTF-8)");
		const bytes = readFileSync(join(fixture.directory, "response.json"));
		expect(bytes).toEqual(Buffer.concat([Buffer.from(`${BEGIN}\n"`), Buffer.from([0xff]), Buffer.from(`"\n${END}\n`)]));
	}));

test("a program that is missing, no file, not executable or without its interpreter is named", () =>
	withCall(async (fixture) => {
		const { adapter, path } = programIn(fixture, "exit 0");
		await adapter.check();
		chmodSync(path, 0o644);
		const denied = await faultOf(() => adapter.check());
		expect(denied).toMatchObject({ code: "MODEL_COMMAND", data: { row: "own", program: path } });
		expect(denied.message).toContain(`model row "own": ${path} cannot be started: not an executable file`);
		expect((await faultOf(() => fixture.call(adapter))).message).toBe(denied.message);
		writeFileSync(path, "#!/no/such/interpreter\n");
		chmodSync(path, 0o755);
		expect((await faultOf(() => fixture.call(adapter))).message).toContain("names an interpreter that is not there");
		const gone = programIn(fixture, "", { program: join(fixture.directory, "none") }).adapter;
		expect((await faultOf(() => gone.check())).message).toContain("no such file");
		expect(await faultOf(() => fixture.call(gone))).toMatchObject({ code: "MODEL_COMMAND" });
		const directory = programIn(fixture, "", { program: fixture.directory }).adapter;
		expect((await faultOf(() => directory.check())).message).toContain("not an executable file");
	}));

test("a refused key says where this program's key goes", () =>
	withCall(async (fixture) => {
		const error = '{"type":"error","kind":"auth","message":"no"}';
		const { adapter, path } = programIn(fixture, lines(error, END));
		const { message } = await faultOf(() => fixture.call(adapter));
		expect(message).toContain(`give ${path} its key`);
		expect(message).toContain("`env` of the row");
		expect(message).not.toContain("api_key_env");
	}));

/** Says what is given, then stays: deaf to SIGTERM, with a child of its own, both known before the first line. */
const deaf = (said: string): string => `trap '' TERM
sleep 60 > /dev/null & echo $! > $here/child
echo $$ > $here/pid
${said}
while :; do sleep 0.05; done`;

test("a stop ends the program with its group, deaf or not, and the call with the reason of the stop", () =>
	withCall(async (fixture) => {
		const { adapter, pid, noted, forgotten } = programIn(fixture, deaf(lines(BEGIN)));
		const stopper = new AbortController();
		const reason = new Error("stopped");
		const calling = fixture.call(adapter, { stop: stopper.signal });
		await eventually(() => fixture.response().length === 1);
		const [leader, child] = [await pid(), await pid("child")];
		stopper.abort(reason);
		await expect(calling).rejects.toBe(reason);
		expect([alive(leader), alive(child)]).toEqual([false, false]);
		expect(forgotten).toEqual(noted);
	}));

test("a program that heeds SIGTERM is given the time to", () =>
	withCall(async (fixture) => {
		const { adapter, pid } = programIn(
			fixture,
			`${lines(BEGIN)}\ntrap 'touch $here/cleaned; exit' TERM\necho $$ > $here/pid\nwhile :; do sleep 0.02; done`,
		);
		const stopper = new AbortController();
		const calling = fixture.call(adapter, { stop: stopper.signal });
		await pid();
		stopper.abort(new Error("stopped"));
		await expect(calling).rejects.toThrow("stopped");
		// It cleaned up, so it was not killed.
		expect(fixture.read("cleaned")).toBe("");
	}));

test("after a stop no program starts", () =>
	withCall(async (fixture) => {
		const { adapter, noted } = programIn(fixture, "exit 0");
		await expect(fixture.call(adapter, { stop: AbortSignal.abort(new Error("stopped")) })).rejects.toThrow("stopped");
		expect(noted).toEqual([]);
	}));

test.each([
	["after `end`", lines(BEGIN, SAY, END), undefined],
	["after a malformed line", lines(BEGIN, "nope"), "MODEL_MALFORMED"],
	["after an error", lines(BEGIN, '{"type":"error","kind":"config","message":"m"}'), "MODEL_FAILED"],
	["after it closed its output", `${lines(BEGIN)}\nexec >&-`, "MODEL_HALF_STREAM"],
])("a program that does not exit %s is ended with its group", (_, said, code) =>
	withCall(async (fixture) => {
		const { adapter, pid } = programIn(fixture, deaf(said));
		if (code === undefined) await fixture.call(adapter);
		else expect((await faultOf(() => fixture.call(adapter))).code).toBe(code);
		expect([alive(await pid()), alive(await pid("child"))]).toEqual([false, false]);
	}),
);

test("what a program leaves in its group does not outlive the attempt, and does not keep it", () =>
	withCall(async (fixture) => {
		const { adapter, pid } = programIn(fixture, `sleep 60 & echo $! > $here/child\n${lines(BEGIN, END)}`);
		await fixture.call(adapter);
		expect(alive(await pid("child"))).toBe(false);
	}));

test("lines after the end are recorded and mean nothing", () =>
	withCall(async (fixture) => {
		const { adapter } = programIn(fixture, lines(BEGIN, SAY, END, "nope", SAY));
		expect((await fixture.call(adapter)).blocks).toHaveLength(1);
		expect(fixture.response()).toEqual([BEGIN, SAY, END, "nope", SAY]);
	}));

test("a block too deep to be kept is malformed, not a defect", () =>
	withCall(async (fixture) => {
		const deep = `{"type":"content_start","index":0,"kind":{"redacted_thinking":{"data":`;
		const nest = (bracket: string): string => `head -c 1000000 /dev/zero | tr '\\0' '${bracket}'`;
		const body = `${lines(BEGIN)}\nprintf '%s' '${deep}'; ${nest("[")}; ${nest("]")}; echo '}}}'\n${lines(END)}`;
		const fault = await faultOf(() => fixture.call(programIn(fixture, body).adapter));
		expect(fault.code).toBe("MODEL_MALFORMED");
	}));

test("a failure of the record ends the program", () =>
	withCall(async (fixture) => {
		const { adapter, pid, forgotten } = programIn(fixture, deaf("echo x >&2"));
		const context = {
			assistantEntries: 0,
			newest: {},
			attempt: 1,
			stop: new AbortController().signal,
			decided: new AbortController().signal,
			ended: () => undefined,
			log: () => {
				throw new Error("no space");
			},
		};
		const reading = async (): Promise<void> => {
			for await (const _ of adapter.attempt(
				{ model: "m", system: "", messages: [], tools: [], max_tokens: 1 },
				context,
			));
		};
		await expect(reading()).rejects.toThrow("no space");
		expect([alive(await pid()), forgotten.length]).toEqual([false, 1]);
	}));

test("a reader that goes away takes the program with it", () =>
	withCall(async (fixture) => {
		const { adapter, pid } = programIn(fixture, deaf(lines(BEGIN)));
		const effects = {
			crash: () => {
				throw new Error("the record failed");
			},
			random: (bytes: number) => Buffer.alloc(bytes),
			sleep: async () => undefined,
		};
		await expect(fixture.call(adapter, { effects })).rejects.toThrow("the record failed");
		expect(alive(await pid())).toBe(false);
	}));
