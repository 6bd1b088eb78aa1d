import { chmodSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, relative } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { run as runProgram } from "../../../process/fixtures/run.ts";
import { CHANGE, createPatchWorld, type PatchWorld } from "./patch-fixture.ts";

let place: PatchWorld;
beforeEach(() => {
	place = createPatchWorld();
});
afterEach(() => place.remove());

describe("what is refused, and changes nothing", () => {
	test("a later bad operation, whatever the earlier ones are", async () => {
		place.put("a");
		const good = ["*** Add File: x/y", "+1", "*** Update File: a", ...CHANGE];
		expect(await place.whyNot(...good, "*** Update File: b", ...CHANGE)).toBe("b: no such file");
		expect(await place.whyNot(...good, "*** Delete File: x/z")).toBe("x/z: no such file");
		expect(await place.whyNot(...good, "*** Add File: q", "bad")).toContain("line 9: unrecognised line");
	});

	test("a path that is taken", async () => {
		for (const name of ["a", "b"]) place.put(name);
		mkdirSync(join(place.cwd, "d"));
		symlinkSync("nowhere", join(place.cwd, "dangling"));
		expect(await place.whyNot("*** Add File: a")).toBe("a: it exists already");
		expect(await place.whyNot("*** Add File: d")).toBe("d: it is a directory");
		expect(await place.whyNot("*** Add File: .")).toBe(".: it is a directory");
		expect(await place.whyNot("*** Add File: a/b")).toContain(`a/b: ${join(place.cwd, "a")} is not a directory`);
		const move = (to: string) => place.whyNot("*** Update File: a", `*** Move to: ${to}`, ...CHANGE);
		expect(await move("b")).toBe("a: cannot be moved to b: it exists already");
		expect(await move("d")).toBe("a: cannot be moved to d: it is a directory");
		expect(await move("dangling")).toContain("a: cannot be moved to dangling: it is a link");
	});

	test("two operations on one path, however it is written", async () => {
		place.put("a");
		mkdirSync(join(place.cwd, "d"));
		symlinkSync("d", join(place.cwd, "e"));
		const twice = (one: string, two: string) => `two operations on one path: ${one} and ${two}`;
		const update = (path: string) => [`*** Update File: ${path}`, ...CHANGE];
		expect(await place.whyNot(...update("a"), ...update("./a"))).toBe(twice("a (line 2)", "./a (line 6)"));
		expect(await place.whyNot(...update("a"), `*** Delete File: ${place.cwd}/a`)).toContain(
			"two operations on one path: a (line 2)",
		);
		expect(await place.whyNot("*** Add File: d/n", "*** Add File: e/n")).toBe(twice("d/n (line 2)", "e/n (line 3)"));
		expect(await place.whyNot("*** Update File: a", "*** Move to: b", ...CHANGE, "*** Add File: b")).toBe(
			twice("b (line 3)", "b (line 7)"),
		);
		expect(await place.whyNot("*** Update File: a", "*** Move to: ./a", ...CHANGE)).toBe(
			twice("a (line 2)", "./a (line 3)"),
		);
		expect(await place.whyNot("*** Add File: n/m/f", "*** Add File: n/m")).toBe(
			"n/m/f needs a directory where n/m (line 3) is a file",
		);
		expect(await place.whyNot("*** Add File: n", "*** Add File: e/../n/f")).toContain(
			"needs a directory where n (line 2)",
		);
	});

	test("what is no text file, without waiting for it", async () => {
		await runProgram({ program: "/usr/bin/mkfifo", args: [join(place.cwd, "pipe")] });
		const server = createServer().listen(join(place.cwd, "socket"));
		await new Promise((resolve) => server.once("listening", resolve));
		mkdirSync(join(place.cwd, "d"));
		place.put("latin", Buffer.from([0x6f, 0xe9, 0x0a]));
		const kinds = {
			pipe: "it is a named pipe",
			socket: "it is a socket",
			d: "it is a directory",
			latin: "it is not UTF-8 text",
		};
		try {
			for (const [name, why] of Object.entries(kinds)) {
				expect(await place.whyNot(`*** Update File: ${name}`, ...CHANGE)).toContain(`${name}: ${why}`);
				expect(await place.whyNot(`*** Delete File: ${name}`)).toContain(`${name}: ${why}`);
				if (name !== "latin") expect(await place.whyNot(`*** Add File: ${name}`)).toBe(`${name}: ${why}`);
			}
		} finally {
			await new Promise((resolve) => server.close(resolve));
		}
	}, 30_000);

	test("what is too large", async () => {
		const cap = 16 * 1024 * 1024;
		for (const name of ["a", "b", "c"]) truncateSync(place.put(name), cap);
		truncateSync(place.put("over"), cap + 1);
		place.put("lines", "\n".repeat(1_000_001));
		expect(await place.whyNot("*** Delete File: over")).toContain(`over: it is ${cap + 1} bytes, over the cap ${cap}`);
		expect(await place.whyNot("*** Update File: lines", ...CHANGE)).toContain("lines: it has over 1000000 lines");
		expect(await place.whyNot(...["a", "b", "c"].map((name) => `*** Delete File: ${name}`))).toContain(
			`c: the files of this patch are over ${2 * cap} bytes together`,
		);
		await place.filesOf("*** Delete File: a", "*** Delete File: b");
	}, 30_000);

	test("a link as the file itself", async () => {
		place.put("a");
		symlinkSync("a", join(place.cwd, "l"));
		symlinkSync("nowhere", join(place.cwd, "dangling"));
		for (const name of ["l", "dangling"]) {
			expect(await place.whyNot(`*** Update File: ${name}`, ...CHANGE)).toContain(`${name}: it is a link`);
			expect(await place.whyNot(`*** Update File: ${name}`, "*** Move to: x", ...CHANGE)).toContain(
				`${name}: it is a link`,
			);
			expect(await place.whyNot(`*** Add File: ${name}`)).toContain(`${name}: it is a link`);
		}
	});

	test("a link that leads out of the working directory or nowhere", async () => {
		mkdirSync(join(place.root, "out"));
		writeFileSync(join(place.root, "out/f"), "old\n");
		const links = { out: join(place.root, "out"), up: "..", dangling: "nowhere", loop: "loop", file: "../../../out/f" };
		for (const [name, target] of Object.entries(links)) symlinkSync(target, join(place.cwd, name));
		const leads = `it leads out of the working directory, to ${join(place.root, "out")}`;
		expect(await place.whyNot("*** Update File: out/f", ...CHANGE)).toContain(`out/f: ${leads}`);
		expect(await place.whyNot("*** Delete File: ./out/f")).toContain(leads);
		expect(await place.whyNot("*** Add File: out/new/f")).toContain(leads);
		expect(await place.whyNot(`*** Add File: ${place.cwd}/out/f2`)).toContain(leads);
		expect(await place.whyNot("*** Add File: up/f")).toContain("up/f: it leads out of the working directory");
		for (const name of ["dangling", "loop"])
			expect(await place.whyNot(`*** Add File: ${name}/f`)).toContain("is a link that leads nowhere");
		expect(await place.whyNot("*** Add File: file/f")).toContain(`${join(place.cwd, "file")} is not a directory`);
	});

	test("what the driver's own process would be reached by", async () => {
		for (const [name, target] of [
			["proc", "/proc"],
			["root", "/proc/self/root"],
			["fd", "/dev/fd"],
		])
			symlinkSync(target ?? "", join(place.cwd, name ?? ""));
		const outside = join(place.root, "link");
		symlinkSync("/proc/self", outside);
		const paths = [
			...[
				"/proc/self/oom_score_adj",
				"/proc/self/comm",
				"/dev/null",
				"/dev/shm/x",
				"/sys/x/y",
				join("/proc/self/root", "x"),
			],
			...["proc/self/comm", `root${place.cwd}/x`, "fd/1", `${outside}/comm`, relative(place.cwd, "/proc/self/comm")],
		];
		for (const path of paths) {
			for (const section of [[`*** Add File: ${path}`, "+1"], [`*** Delete File: ${path}`]])
				expect(await place.whyNot(...section)).toMatch(/: nothing in \/(proc|sys|dev) is changed by this tool$/);
		}
	}, 30_000);

	test("names that a file cannot have", async () => {
		expect(await place.whyNot(`*** Add File: ${"x".repeat(256)}`)).toMatch(/^x+: ENAMETOOLONG: name too long$/);
		expect(await place.whyNot("*** Add File: a", `*** Add File: d/e/${"x".repeat(256)}`)).toMatch(
			/^d\/e\/x+: ENAMETOOLONG: name too long; nothing was changed$/,
		);
	});

	test.skipIf(process.getuid?.() === 0)("what may not be written", async () => {
		chmodSync(place.put("a"), 0o444);
		mkdirSync(join(place.cwd, "d"));
		place.put("d/f");
		chmodSync(join(place.cwd, "d"), 0o555);
		try {
			expect(await place.whyNot("*** Update File: a", ...CHANGE)).toBe("a: EACCES: permission denied");
			expect(await place.whyNot("*** Add File: d/new")).toBe("d/new: EACCES: permission denied");
			expect(await place.whyNot("*** Add File: d/e/new")).toBe("d/e/new: EACCES: permission denied");
			expect(await place.whyNot("*** Delete File: d/f")).toBe("d/f: EACCES: permission denied");
		} finally {
			chmodSync(join(place.cwd, "d"), 0o755);
		}
	});
});

/** Operations that would do, one path each, on the files of the property below. */
const GOOD = [
	["*** Add File: x/y", "+1"],
	["*** Add File: x/z/empty"],
	["*** Update File: a", ...CHANGE],
	["*** Update File: b", "*** Move to: x/b", ...CHANGE],
	["*** Delete File: c"],
	["*** Delete File: l"],
];
const BAD = [
	["*** Update File: nowhere", ...CHANGE],
	["*** Update File: d", "@@", "-other"],
	["*** Update File: d", "@@ other", "-old"],
	["*** Update File: twice", ...CHANGE],
	["*** Update File: d", "*** Move to: twice", ...CHANGE],
	["*** Update File: latin", ...CHANGE],
	["*** Delete File: latin"],
	["*** Add File: d"],
	["*** Add File: out/f"],
	["*** Add File: /proc/f"],
	["*** Delete File: d", "*** Delete File: ./d"],
	["*** Add File: d", "no line of a file"],
	[`*** Add File: new/${"n".repeat(300)}`],
];

test("a patch with one bad operation among good ones changes no byte on disk", async () => {
	for (const name of ["a", "b", "c", "d"]) place.put(name);
	place.put("twice", "old\nold\n");
	place.put("latin", Buffer.from([0xe9]));
	symlinkSync("nowhere", join(place.cwd, "l"));
	symlinkSync(place.root, join(place.cwd, "out"));
	await fc.assert(
		fc.asyncProperty(fc.subarray(GOOD), fc.constantFrom(...BAD), fc.nat(), async (good, bad, at) => {
			await place.whyNot(...good.toSpliced(at % (good.length + 1), 0, bad).flat());
		}),
		{ numRuns: 60 },
	);
	await place.filesOf(...GOOD.flat());
}, 30_000);
