import type { Block, ModelEvent } from "@lernie/contract";
import { addDelta, type OpenBlock, openBlock, type SealedBlock, sealBlock } from "./blocks.ts";

/** A whole message of a model, as its transcript entry holds it. */
export interface Folded {
	readonly blocks: readonly Block[];
	/** Counters as JSON text, each the last one reported; absent where none was. */
	readonly usage?: string;
	/** Tool-use ids whose arguments cannot be used, with the reason. It has no prototype: any id may be looked up. */
	readonly unusable: Readonly<Record<string, string>>;
	/** Reason of the last `finish`. */
	readonly finish?: string;
}

export interface Fold {
	/** Takes the next event; what is not known is ignored. Returns the text of the answer that it added. */
	add(event: ModelEvent): string;
	/** Ends the message; blocks that are still open are finished as they are. */
	seal(): Folded;
}

/**
 * Gives every tool call of a message its own id: an empty one, or one that occurred before, becomes `<id>~<n>`, and never
 * one that another call of the message brought (CONTRACTS §4).
 */
export const uniqueIds = (ids: readonly string[]): readonly string[] => {
	const taken = new Set(ids);
	const used = new Set<string>();
	return ids.map((id) => {
		let unique = id;
		for (let n = id === "" ? 1 : 2; unique === "" || used.has(unique); n += 1) {
			const candidate = `${id === "" ? "call" : id}~${n}`;
			if (!taken.has(candidate)) unique = candidate;
		}
		used.add(unique);
		taken.add(unique);
		return unique;
	});
};

const assemble = (sealed: readonly SealedBlock[]): Pick<Folded, "blocks" | "unusable"> => {
	const unusable: Record<string, string> = Object.create(null);
	const ids = uniqueIds(sealed.flatMap(({ block }) => (block.type === "tool_use" ? [block.id] : [])))[
		Symbol.iterator
	]();
	const blocks = sealed.map(({ block, unusable: why }): Block => {
		if (block.type !== "tool_use") return block;
		const id = ids.next().value ?? block.id;
		if (why !== undefined) unusable[id] = why;
		return { ...block, id };
	});
	return { blocks, unusable };
};

/** Folds the events of one attempt into a message (`spec/tools.md` §18.5, DESIGN D15, D16). Pure. */
export const createFold = (): Fold => {
	const started: OpenBlock[] = [];
	const open = new Map<number, OpenBlock>();
	const usage = new Map<string, unknown>();
	let finish: string | undefined;
	return {
		add(event) {
			switch (event.type) {
				case "content_start": {
					const block = openBlock(event.kind);
					open.delete(event.index);
					if (block === undefined) return "";
					started.push(block);
					open.set(event.index, block);
					return block.tag === "text" && typeof block.body.text === "string" ? block.body.text : "";
				}
				case "content_delta": {
					const block = open.get(event.index);
					return block === undefined ? "" : addDelta(block, event.delta);
				}
				case "content_stop":
					open.delete(event.index);
					return "";
				case "usage":
					for (const [counter, value] of Object.entries(event))
						if (counter !== "type" && value !== null && value !== undefined) usage.set(counter, value);
					return "";
				case "finish":
					finish = event.reason;
					return "";
				case "message_start":
				case "error":
				case "end":
					return "";
				default:
					event satisfies never;
					return "";
			}
		},
		seal() {
			const unfinished = new Set(open.values());
			const isCut = (block: OpenBlock): boolean =>
				unfinished.has(block) || (finish === "length" && block === started.at(-1));
			const sealed = started.flatMap((block) => sealBlock(block, isCut(block)) ?? []);
			return {
				...assemble(sealed),
				...(usage.size === 0 ? {} : { usage: JSON.stringify(Object.fromEntries(usage)) }),
				...(finish === undefined ? {} : { finish }),
			};
		},
	};
};

/** Folds a whole stream at once. */
export const foldEvents = (events: Iterable<ModelEvent>): Folded => {
	const fold = createFold();
	for (const event of events) fold.add(event);
	return fold.seal();
};
