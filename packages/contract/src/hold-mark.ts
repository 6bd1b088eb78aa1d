/** The blob behind `refs/lernie/held/<agent>` (CONTRACTS §6): this call and every later one of its entry has certainly not started. */
export interface HoldMark {
	readonly tool_use_id: string;
	readonly tool: string;
	readonly reason: string;
	readonly kind: "hold" | "fault";
	readonly digest: string;
	/** Number of the transcript entry that made the call, e.g. `004`. */
	readonly entry: string;
	readonly since: string;
}

/** One line without a newline at its end. */
export const holdMarkToJson = (mark: HoldMark): string =>
	JSON.stringify({
		tool_use_id: mark.tool_use_id,
		tool: mark.tool,
		reason: mark.reason,
		kind: mark.kind,
		digest: mark.digest,
		entry: mark.entry,
		since: mark.since,
	});

/** Reads a mark; undefined where it is not one, which reads as "no mark" and so never runs anything (`spec/tools.md` §13.1). */
export const readHoldMark = (text: string): HoldMark | undefined => {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch (thrown) {
		if (thrown instanceof SyntaxError) return undefined;
		throw thrown;
	}
	if (typeof value !== "object" || value === null) return undefined;
	const field = (key: string): string | undefined => {
		const found: unknown = Reflect.get(value, key);
		return typeof found === "string" ? found : undefined;
	};
	const [id, tool, reason] = [field("tool_use_id"), field("tool"), field("reason")];
	if (id === undefined || tool === undefined || reason === undefined) return undefined;
	return {
		tool_use_id: id,
		tool,
		reason,
		kind: field("kind") === "fault" ? "fault" : "hold",
		digest: field("digest") ?? "",
		entry: field("entry") ?? "",
		since: field("since") ?? "",
	};
};
