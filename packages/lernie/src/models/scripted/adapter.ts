import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { LernieError, type ModelEvent, messageOf } from "@lernie/contract";
import { readYaml } from "../../config/strict-yaml.ts";
import type { AttemptContext, ModelAdapter, StreamItem } from "../types.ts";
import { answerEvents, messageStart } from "./answer.ts";
import { type Script, type ScriptEntry, scriptSchema } from "./schema.ts";

/** A timer cannot run longer; a stalled call starts the next one. */
const LONG_MS = 2 ** 31 - 1;

const SCRIPT_ENDED: ScriptEntry = { say: "(script ended)" };

const readScript = async (file: string): Promise<Script> => {
	let bytes: Buffer;
	try {
		bytes = await readFile(file);
	} catch (thrown) {
		throw new LernieError("MODEL_SCRIPT", `${file}: cannot be read: ${messageOf(thrown)}`, { file }, thrown);
	}
	return readYaml(scriptSchema, file, bytes, "MODEL_SCRIPT");
};

interface Chosen {
	readonly entry: ScriptEntry;
	/** Place in `calls`; undefined for the text that stands in past the end. */
	readonly place: number | undefined;
}

/** The entry that answers the call with `before` assistant entries before it. Throws `MODEL_ENDED`. */
const choose = ({ calls, then = "fail" }: Script, before: number, file: string): Chosen => {
	const entry = calls[before];
	if (entry !== undefined) return { entry, place: before };
	const last = calls.at(-1);
	if (then === "repeat" && last !== undefined) return { entry: last, place: calls.length - 1 };
	if (then === "end") return { entry: SCRIPT_ENDED, place: undefined };
	throw new LernieError("MODEL_ENDED", `${file}: the script has ${calls.length} calls and this is call ${before + 1}`, {
		file,
		calls: calls.length,
		call: before + 1,
	});
};

const SHOWN_CHARACTERS = 200;

/** Throws `MODEL_SCRIPT` where the transcript is not what the entry expects. */
const meet = ({ entry, place }: Chosen, { newest }: AttemptContext, file: string): void => {
	const expectations = [
		["tool_result", entry.expect?.tool_result, newest.toolResult],
		["user", entry.expect?.user, newest.user],
	] as const;
	for (const [field, source, found] of expectations) {
		if (source === undefined || (found !== undefined && new RegExp(source).test(found))) continue;
		const key = `calls[${place}].expect.${field}`;
		const shown = found === undefined ? "there is none" : `it is ${JSON.stringify(found.slice(0, SHOWN_CHARACTERS))}`;
		throw new LernieError(
			"MODEL_SCRIPT",
			`${file}: ${key}: /${source}/ was expected of the newest ${field}; ${shown}`,
			{
				file,
				entry: place,
				key,
			},
		);
	}
};

const failedAttempt = (attempt: NonNullable<ScriptEntry["attempts"]>[number]): readonly ModelEvent[] => {
	const { error, message, retry_after_seconds } = attempt;
	return [
		{
			type: "error",
			kind: error.kind ?? { provider: { status: error.status ?? 0 } },
			message: message ?? "scripted failure",
			...(retry_after_seconds === undefined ? {} : { retry_after_seconds }),
		},
		{ type: "end" },
	];
};

const untilStopped = async (stop: AbortSignal): Promise<never> => {
	// A pending promise alone would not keep the process alive.
	for (;;) await wait(LONG_MS, undefined, { signal: stop });
};

async function* play(chosen: Chosen, model: string, context: AttemptContext): AsyncGenerator<StreamItem> {
	const { entry } = chosen;
	const n = context.assistantEntries + 1;
	const failure = entry.attempts?.[context.attempt - 1];
	if (failure !== undefined) {
		yield* failedAttempt(failure);
		return;
	}
	if (entry.delay_ms !== undefined) await wait(entry.delay_ms, undefined, { signal: context.stop });
	if (entry.stall === true) {
		yield messageStart(n, model);
		await untilStopped(context.stop);
	}
	// An event goes out as the line it would be on a wire: what the script says need not be an event of this protocol.
	if (entry.events !== undefined)
		yield* entry.events.map((event) => (typeof event === "string" ? event : JSON.stringify(event)));
	else yield* answerEvents(entry, n, model);
}

/** A model that a YAML file plays (CONTRACTS §9). The file is read once, when it is first needed. */
export const createScriptedAdapter = (row: string, file: string): ModelAdapter => {
	let script: Promise<Script> | undefined;
	const load = (): Promise<Script> => {
		script ??= readScript(file);
		return script;
	};
	return {
		row,
		async check() {
			await load();
		},
		async *attempt(request, context) {
			const chosen = choose(await load(), context.assistantEntries, file);
			meet(chosen, context, file);
			yield* play(chosen, request.model, context);
		},
	};
};
