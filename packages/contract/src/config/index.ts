export * from "./manifest.ts";
export * from "./models.ts";
export * from "./nearest.ts";
export * from "./providers.ts";
export * from "./shape.ts";
export * from "./terms.ts";
export * from "./workflow.ts";
