import { type LoadedConfig, loadConfig } from "../config/load.ts";
import { createControl } from "../control/create.ts";
import { createAdapter } from "../models/adapters.ts";
import { readCwd } from "../workspace/marks.ts";
import { trackGroups } from "../workspace/running.ts";
import type { Tip } from "./facts.ts";
import { limitsInForce } from "./limits.ts";
import type { Governing, Session } from "./session.ts";
import { unrecordedPlace } from "./working-directory.ts";

export interface ModelChoice {
	readonly provider: string;
	readonly model: string;
}

/** `<row>/<model>` at its first slash; undefined where one of the two is missing (CONTRACTS §2). */
export const splitModel = (text: string): ModelChoice | undefined => {
	const slash = text.indexOf("/");
	const [provider, model] = [text.slice(0, slash), text.slice(slash + 1)];
	return slash < 1 || model === "" ? undefined : { provider, model };
};

/** The model an agent was founded with, `<row>/<model>`, as the option of a load; it wins over the role's. */
export const modelOption = (model: string | undefined): { readonly model?: ModelChoice } => {
	if (model === undefined) return {};
	const split = splitModel(model);
	return split === undefined ? {} : { model: split };
};

const amount = (value: number | undefined, unit: string): string =>
	value === undefined ? `unlimited ${unit}` : `${value} ${unit}`;

/** What every surface has to say about how far this drive is bounded (DESIGN §2 law 8, D21, D24). */
const announce = (session: Session, tip: Tip, config: LoadedConfig, cwd: string | undefined): void => {
	const { emit } = session;
	const limits = limitsInForce(tip.facts, config);
	const said = `${amount(limits.steps, "model calls")} a message, ${amount(limits.minutes, "minutes")} a drive`;
	emit({ type: "notice", code: "LIMITS", message: said });
	emit({ type: "notice", code: "UNCONFINED", message: "UNCONFINED: a tool that runs can do what you can do" });
	if (config.workflow.control.kind === "none")
		emit({
			type: "notice",
			code: "UNCONTROLLED",
			message: "UNCONTROLLED: tool_control is none, no call is judged before it runs",
		});
	const place = unrecordedPlace(session.layout, session.agent, cwd);
	if (place !== undefined)
		emit({ type: "notice", code: "UNRECORDED", message: `works in ${place}: nothing there is part of the record` });
};

const load = async (session: Session, tip: Tip): Promise<Governing> => {
	const { repo, layout, roots, effects, agent } = session;
	const cwd = await readCwd(repo, agent);
	const config = await loadConfig(repo, tip.facts.config, {
		role: tip.facts.role,
		roots,
		env: effects.env,
		workspace: layout.root,
		...modelOption(tip.facts.model),
		...(tip.facts.cwd === undefined ? {} : { cwd: tip.facts.cwd }),
	});
	announce(session, tip, config, cwd);
	const place = { workspace: layout.root, env: effects.env, track: trackGroups(layout, agent) };
	return {
		config,
		control: createControl(config.workflow.control, { ...place, effects, stop: session.stop }),
		adapter: createAdapter(config.role.provider, config.rows, { ...place, agent }),
	};
};

/** The governing configuration of a tip, loaded once a drive. Throws `CONFIG` where it does not load; then nothing runs. */
export const governingOf = (session: Session, tip: Tip): Promise<Governing> => {
	const known = session.governing.get(tip.facts.config);
	if (known !== undefined) return known;
	const loading = load(session, tip);
	session.governing.set(tip.facts.config, loading);
	return loading;
};

/** Ends what the controls of a drive keep running. */
export const closeControls = async (governing: Session["governing"]): Promise<void> => {
	for (const loading of governing.values()) {
		const loaded = await loading.catch(() => undefined); // A configuration that did not load started nothing.
		await loaded?.control.close();
	}
};
