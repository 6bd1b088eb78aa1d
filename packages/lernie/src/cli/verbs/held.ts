import { EXIT, type ExitCode } from "@lernie/contract";
import { loadWorkflow } from "../../config/load.ts";
import { approvalCommand, shellQuoted } from "../../control/ask.ts";
import { readTip } from "../../drive/facts.ts";
import { type HeldCall, listHeld } from "../../drive/held.ts";
import type { DriveContext } from "../../drive/session.ts";
import { shortDigest } from "../drive-end.ts";
import { printable } from "../printable.ts";
import { inWorkspace, type World } from "../world.ts";

const heldToJson = ({ input, ...call }: HeldCall): string => `${JSON.stringify(call).slice(0, -1)},"input":${input}}`;

/** How a person answers: known only for the control that ships; others have their own way. */
const answerOf = async (world: World, context: DriveContext, call: HeldCall): Promise<string> => {
	const go = `lernie -w ${shellQuoted(context.layout.root)} advance ${call.agent}`;
	if (call.kind === "fault") return `repair the control, then: ${go}`;
	const { facts } = await readTip(context.repo, call.agent);
	// Listing what is held must work whatever became of the configuration.
	const workflow = await loadWorkflow(context.repo, facts.config, context.roots).catch(() => undefined);
	const control = workflow?.control;
	if (control?.kind === "command" && control.command === world.shippedControl)
		return `${approvalCommand(context.layout.root, call.digest)} && ${go}`;
	return `answer where your control asks, then: ${go}`;
};

/** `held`: every parked call in full, with what answers it (CONTRACTS §10). */
export const held = async (world: World): Promise<ExitCode> =>
	inWorkspace(world, async (context) => {
		const calls = await listHeld(context);
		if (world.output.json) {
			world.output.product(`[${calls.map(heldToJson).join(",")}]\n`);
			return EXIT.done;
		}
		if (calls.length === 0) world.output.say("nothing is held");
		for (const call of calls) {
			const lines = [
				`${call.agent} ${call.name}  ${call.kind === "fault" ? "CONTROL FAULT" : "HELD"} since ${call.since}  UNCONFINED`,
				`  call    ${printable(call.tool)} ${printable(call.input)}`,
				`  id      ${printable(call.tool_use_id)} in entry ${call.entry}, digest ${shortDigest(call.digest)}`,
				`  reason  ${printable(call.reason)}`,
				`  answer  ${await answerOf(world, context, call)}`,
			];
			world.output.product(`${lines.join("\n")}\n`);
		}
		return EXIT.done;
	});
