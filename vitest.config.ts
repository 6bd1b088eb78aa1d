import { defineConfig } from "vitest/config";

// `conformance/` and `crash/` spawn real processes: two at a time, as the smallest machine we test on has two cores.
export default defineConfig({
	test: {
		maxWorkers: 2,
		projects: [
			{
				test: {
					name: "unit",
					include: ["packages/*/src/**/*.test.ts"],
					// Not threads: when one ends, Node closes every descriptor it opened by number, whoever has that number by then.
					pool: "forks",
					isolate: false,
					sequence: { groupOrder: 0 },
				},
			},
			{
				test: {
					name: "behaviour",
					include: ["conformance/**/*.test.ts", "crash/**/*.test.ts"],
					pool: "forks",
					isolate: true,
					testTimeout: 60_000,
					hookTimeout: 60_000,
					sequence: { groupOrder: 1 },
				},
			},
		],
	},
});
