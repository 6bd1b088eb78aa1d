import { EXIT, type ExitCode } from "@lernie/contract";
import { approvalCommand, shellQuoted } from "../../control/ask.ts";
import { readTip } from "../../drive/facts.ts";
import { type HeldCall, listHeld } from "../../drive/held.ts";
import type { DriveContext } from "../../drive/session.ts";
import { printable, shortDigest } from "../printable.ts";
import { inWorkspace, type World } from "../world.ts";

const heldToJson = ({ input, ...call }: HeldCall): string => `${JSON.stringify(call).slice(0, -1)},"input":${input}}`;

type Answer = (call: HeldCall) => Promise<string>;

/** How a person answers: known only for the control that ships; others have their own way. */
const createAnswers = (world: World, { layout, repo, roots }: DriveContext): Answer => {
	const commands = new Map<string, Promise<string | undefined>>();
	// Loaded only here, for reading a configuration takes heavy libraries; and once for all agents that share one.
	const loadCommand = async (config: string): Promise<string | undefined> => {
		const { loadWorkflow } = await import("../../config/load.ts");
		// Listing what is held must work whatever became of the configuration.
		const workflow = await loadWorkflow(repo, config, roots).catch(() => undefined);
		return workflow?.control.kind === "command" ? workflow.control.command : undefined;
	};
	return async (call) => {
		const go = `lernie -w ${shellQuoted(layout.root)} advance ${call.agent}`;
		if (call.kind === "fault") return `repair the control, then: ${go}`;
		const { config } = (await readTip(repo, call.agent)).facts;
		const command = commands.get(config) ?? loadCommand(config);
		commands.set(config, command);
		return (await command) === world.shippedControl
			? `${approvalCommand(layout.root, call.digest)} && ${go}`
			: `answer where your control asks, then: ${go}`;
	};
};

/** `held`: every parked call in full, with what answers it (CONTRACTS §10). */
export const held = async (world: World): Promise<ExitCode> =>
	inWorkspace(world, async (context) => {
		const calls = await listHeld(context, (agent, fault) =>
			world.output.say(`${agent} is left out, its record cannot be read: ${fault.message}`),
		);
		if (world.output.json) {
			world.output.product(`[${calls.map(heldToJson).join(",")}]\n`);
			return EXIT.done;
		}
		if (calls.length === 0) world.output.say("nothing is held");
		const answerOf = createAnswers(world, context);
		for (const call of calls) {
			const lines = [
				`${call.agent} ${call.name}  ${call.kind === "fault" ? "CONTROL FAULT" : "HELD"} since ${call.since}  UNCONFINED`,
				`  call    ${printable(call.tool)} ${printable(call.input)}`,
				`  id      ${printable(call.tool_use_id)} in entry ${call.entry}, digest ${shortDigest(call.digest)}`,
				`  reason  ${printable(call.reason)}`,
				`  answer  ${await answerOf(call)}`,
			];
			world.output.product(`${lines.join("\n")}\n`);
		}
		return EXIT.done;
	});
