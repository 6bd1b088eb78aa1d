/** What a model is told about a call that has no envelope. Quoted fragments are contracts (`spec/tools.md` §§12.4, 14). */

const quoted = (tool: string): string => JSON.stringify(tool);

export const refusedText = (tool: string, reason: string): string =>
	`The call to ${quoted(tool)} was refused by the workflow's tool control and did not run: ${reason}`;

/** An entry of a batch cannot wait for an answer: the batch has one result (`spec/tools.md` §11.3). */
export const heldInsideText = (tool: string, reason: string): string =>
	`The call to ${quoted(tool)} needs an answer first and did not run; it cannot park mid-envelope. To have it answered, ` +
	`re-issue this invocation as a call of its own. ${reason}`;

export const nestedText = "multi_tool may not contain itself (depth 1)";

export const skippedText = (failed: number, total: number): string =>
	`on_failure "abort" ended the envelope after [${failed}/${total}] failed; this invocation did not run`;

export const UNANSWERED_TEXT = "the tool control could not answer; not run";

export const afterFaultText = (tool: string): string =>
	`The call to ${quoted(tool)} was not started: the tool control could not answer about a call before it. Call it again if it ` +
	"is still needed.";

export const unusableText = (tool: string, why: string): string =>
	`The call to ${quoted(tool)} did not run: the arguments are not usable: ${why}. Send the call again with one JSON object.`;

export const notStartedText = (tool: string, why: string): string =>
	`The call to ${quoted(tool)} could not be started: ${why}`;

/** A call that was under way when the agent was stopped (`spec/tools.md` §14.1). */
export const stoppedText = (tool: string): string =>
	`The call to ${quoted(tool)} did not return: the agent was stopped while it ran, and it was ended. Whatever it had done by ` +
	"then stands. Check before you call it again.";

/** A call that was next when the agent was stopped. */
export const stoppedBeforeText = (tool: string): string =>
	`The call to ${quoted(tool)} did not return: the agent was stopped before it started. Nothing of it was done; call it again ` +
	"if it is still needed.";

/** A call whose driver died and whose start is on record, or may have been (D25). */
export const unknownText = (tool: string): string =>
	`The call to ${quoted(tool)} did not return: the driving process died before recording an outcome. It is unknown whether ` +
	"the call ran; any effects it had remain. Check before you call it again.";

/** A call whose driver died before it could have started it (D25). */
export const neverStartedText = (tool: string): string =>
	`The call to ${quoted(tool)} did not return: the driving process died before recording an outcome. The call was certainly ` +
	"not started; call it again if it is still needed.";
