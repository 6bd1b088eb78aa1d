/** As many as the cores we count on, since vitest runs two files at a time on them. */
const AT_ONCE = 2;

/** Acts on every item, two at a time. */
export const together = async <T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> => {
	const queue = items.values();
	const worker = async (): Promise<void> => {
		for (const item of queue) await act(item);
	};
	await Promise.all(Array.from({ length: AT_ONCE }, worker));
};
