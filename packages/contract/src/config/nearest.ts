/**
 * Optimal string alignment distance: a swap of neighbours costs one. Our own, as it is the one function of a library
 * that this package, whose only dependency is zod, would need.
 */
export const editDistance = (left: string, right: string): number => {
	let before: number[] = [];
	let above = Array.from({ length: right.length + 1 }, (_, index) => index);
	for (let row = 1; row <= left.length; row += 1) {
		const current = [row];
		for (let column = 1; column <= right.length; column += 1) {
			const same = left[row - 1] === right[column - 1];
			const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
			current[column] = Math.min(
				(above[column] ?? 0) + 1,
				(current[column - 1] ?? 0) + 1,
				(above[column - 1] ?? 0) + (same ? 0 : 1),
				row > 1 && column > 1 && swapped ? (before[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
			);
		}
		before = above;
		above = current;
	}
	return above[right.length] ?? 0;
};

/** The known key that was most likely meant by `key`, or undefined where none is close (DESIGN D17). */
export const nearestKey = (key: string, known: readonly string[]): string | undefined => {
	const ranked = known
		.map((candidate) => ({ candidate, distance: editDistance(key.toLowerCase(), candidate.toLowerCase()) }))
		.sort((left, right) => left.distance - right.distance);
	const best = ranked[0];
	// A third of the letters, and never less than one: "step" means "steps", "budget" does not mean "sandbox".
	const allowed = Math.max(1, Math.floor(key.length / 3));
	return best !== undefined && best.distance <= allowed ? best.candidate : undefined;
};
