import type { CommandControl, ControlConfig } from "../config/workflow.ts";
import { fileDigest } from "../process/file-digest.ts";
import { consultOnce } from "./once.ts";
import { serveControl } from "./serve.ts";
import type { Control, ControlContext } from "./types.ts";

const NONE: Control = {
	label: undefined,
	adjudicate: async () => ({ verdict: "none", ms: 0 }),
	close: async () => undefined,
};

const onceControl = (config: CommandControl, context: ControlContext): Control => {
	let label = `${config.command} sha256:unknown`;
	return {
		get label() {
			return label;
		},
		async adjudicate(question) {
			const digest = await fileDigest(config.command).catch(() => "unknown");
			label = `${config.command} sha256:${digest}`;
			return consultOnce(config, context, question);
		},
		close: async () => undefined,
	};
};

/** The control a workflow names. Building it starts nothing; one that cannot be started is a fault of each consult. */
export const createControl = (config: ControlConfig, context: ControlContext): Control => {
	if (config.kind === "none") return NONE;
	return config.mode === "serve" ? serveControl(config, context) : onceControl(config, context);
};
