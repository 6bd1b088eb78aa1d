/** Token counters, each the last value that was reported (`spec/core.md` §9.2). */
export interface Usage {
	readonly input_tokens?: number | null;
	readonly output_tokens?: number | null;
	readonly cache_read_tokens?: number | null;
	readonly cache_write_tokens?: number | null;
}

export type ErrorKind =
	| "usage"
	| "parse_input"
	| "config"
	| "auth"
	| "transport"
	| "interrupted"
	| { readonly provider: { readonly status: number } };

/** The one stream of events behind every model adapter (`spec/tools.md` §18.3). Unknown types, kinds and deltas are ignored. */
export type ModelEvent =
	| {
			readonly type: "message_start";
			readonly v: number;
			readonly role?: string;
			readonly id?: string;
			readonly model?: string;
	  }
	| { readonly type: "content_start"; readonly index: number; readonly kind: Readonly<Record<string, unknown>> }
	| { readonly type: "content_delta"; readonly index: number; readonly delta: Readonly<Record<string, unknown>> }
	| { readonly type: "content_stop"; readonly index: number }
	| ({ readonly type: "usage" } & Usage)
	| { readonly type: "finish"; readonly reason: string; readonly category?: string; readonly explanation?: string }
	| {
			readonly type: "error";
			readonly kind: ErrorKind;
			readonly message: string;
			readonly provider_detail?: unknown;
			readonly retry_after_seconds?: number;
	  }
	| { readonly type: "end" };

/** A tool as a model is told of it; `input_schema` is JSON text. */
export interface ToolDefinition {
	readonly name: string;
	readonly description?: string;
	readonly input_schema: string;
}

/** One message of a request; every block is JSON text, so that what a model sent goes back byte for byte. */
export interface WireMessage {
	readonly role: "user" | "assistant" | "tool";
	readonly content: readonly string[];
}

export interface ModelRequest {
	readonly model: string;
	readonly system: string;
	readonly messages: readonly WireMessage[];
	readonly tools: readonly ToolDefinition[];
	readonly max_tokens: number;
	readonly temperature?: number;
	readonly reasoning?: unknown;
}

const toolToJson = (tool: ToolDefinition): string => {
	const description = tool.description === undefined ? "" : `,"description":${JSON.stringify(tool.description)}`;
	return `{"name":${JSON.stringify(tool.name)}${description},"input_schema":${tool.input_schema}}`;
};

export const messageToJson = (message: WireMessage): string =>
	`{"role":"${message.role}","content":[${message.content.join(",")}]}`;

/** The front of a request's text, up to the first of its messages. */
export const requestHead = ({ model, system }: Pick<ModelRequest, "model" | "system">): string =>
	`{"model":${JSON.stringify(model)},"system":[${JSON.stringify({ type: "text", text: system })}],"messages":[`;

/** The end of a request's text, from the close of its messages on. */
export const requestTail = (request: ModelRequest): string =>
	`],"tools":[${request.tools.map(toolToJson).join(",")}],"tool_choice":{"type":"auto"},"parallel_tool_calls":null` +
	`,"max_tokens":${request.max_tokens},"temperature":${request.temperature ?? null},"top_p":null` +
	`,"reasoning":${JSON.stringify(request.reasoning ?? null)},"stop":null,"stream":null,"output":null}`;

/** The canonical request as compact JSON text (`spec/tools.md` §18.2). */
export const requestToJson = (request: ModelRequest): string =>
	requestHead(request) + request.messages.map(messageToJson).join(",") + requestTail(request);
