/** Like `Promise.all(items.map(act))`, with `width` of them under way at a time: what is in memory stays as small as that. */
export const mapAtMost = async <Item, Result>(
	width: number,
	items: readonly Item[],
	act: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> => {
	const results: Result[] = [];
	const queue = items.entries();
	const worker = async (): Promise<void> => {
		for (const [at, item] of queue) results[at] = await act(item);
	};
	await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
	return results;
};
