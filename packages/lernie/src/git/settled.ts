const COARSE_NS = 1_000_000_000n;

/**
 * Whether a file last changed long enough before `nowMs` that any later change shows in its ctime: 100 ms, or 2 s where the
 * time looks as if the file system counted whole seconds. `nowMs` is taken before the content is read.
 */
export const isSettled = (ctimeNs: bigint, nowMs: number): boolean => {
	const marginMs = ctimeNs % COARSE_NS === 0n ? 2000 : 100;
	return ctimeNs <= BigInt(nowMs - marginMs) * 1_000_000n;
};
