export * from "./cue.ts";
export * from "./cue-host.ts";
export type * from "./helm.ts";
export type * from "./cue.ts";
export * from "./plan.ts";
export * from "./template-host.ts";
