import { chmodSync } from "node:fs";
import { expect } from "vitest";
import { createPlace } from "../support/place.ts";
import { runCalls, stepFile } from "../support/scenario.ts";
import { verifies } from "../support/verifies.ts";

const onPath = (place: ReturnType<typeof createPlace>) => ({ PATH: `${place.path("bin")}:${place.env.PATH}` });

verifies(
	"tools-107",
	"the operator's own directory comes before PATH, and PATH never supplies a built-in name",
	async () => {
		const place = createPlace();
		for (const name of ["greet", "read_file"]) place.script(`bin/lernie-tool-${name}`, "#!/bin/sh\necho from PATH\n");
		place.tool("greet", "#!/bin/sh\necho own\n");
		const calls = [{ name: "greet" }, { name: "read_file", input: { path: "/dev/null" } }];
		const { results } = await runCalls(calls, { place, tools: ["greet", "read_file"], run: { env: onPath(place) } });
		expect(results.map(({ text }) => text)).toEqual([
			"Exit code: 0\nown\n",
			expect.stringContaining("not a regular file"),
		]);
	},
);

verifies("tools-107", "only the operator's own directory replaces a built-in", async () => {
	const place = createPlace();
	place.tool("read_file", "#!/bin/sh\necho replaced\n");
	const { results } = await runCalls([{ name: "read_file", input: { path: "x" } }], { place });
	expect(results[0]?.text).toBe("Exit code: 0\nreplaced\n");
});

verifies("tools-109", "a built-in answers where no external tool of its name is", async () => {
	const { results } = await runCalls([{ name: "bash", input: { command: "echo built in" } }]);
	expect(results[0]).toMatchObject({ text: "Exit code: 0\nbuilt in\n", isError: false });
});

verifies("contract-path-tool", "a described tool that lies on PATH only is found there", async () => {
	const place = createPlace();
	place.write("home/tools/far.json", '{"type":"object"}');
	place.script("bin/lernie-tool-far", "#!/bin/sh\necho far\n");
	const { results } = await runCalls([{ name: "far" }], { place, tools: ["far"], run: { env: onPath(place) } });
	expect(results[0]?.text).toBe("Exit code: 0\nfar\n");
});

verifies("tools-111", "a file that cannot be executed is not passed over, and the run goes on", async () => {
	const place = createPlace();
	chmodSync(place.tool("inert", "#!/bin/sh\necho never\n"), 0o644);
	place.script("bin/lernie-tool-inert", "#!/bin/sh\necho from PATH\n");
	const options = { place, tools: ["inert"], run: { env: onPath(place) } };
	const { ran, agent, results, ws } = await runCalls([{ name: "inert", id: "t1" }], options);
	expect(ran).toMatchObject({ code: 0, stdout: "done\n" });
	expect(results[0]).toMatchObject({ isError: true, text: expect.stringContaining("could not be started: ") });
	expect(ws.exists(stepFile(agent, "001", "tools/t1/input.json"))).toBe(true);
	expect(ws.exists(stepFile(agent, "001", "tools/t1/output.json"))).toBe(false);
});

verifies("tools-112", "a name nobody answers to is an ordinary failure that lists the pool", async () => {
	const place = createPlace();
	place.write("home/tools/frob.json", '{"type":"object"}');
	const { ran, results } = await runCalls([{ name: "frob" }], { place, tools: ["frob"] });
	expect(ran).toMatchObject({ code: 0, stdout: "done\n" });
	const pool = 'unknown built-in tool: "frob"; available: apply_patch, bash, cd, message, read_file';
	expect(results[0]?.isError).toBe(true);
	expect(results[0]?.text).toBe(`Exit code: 1\n--- stderr ---\nlernie tool frob: ${pool}\n`);
});
