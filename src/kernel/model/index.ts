export * from "./acts-for.ts";
export { keptOutputLabel, lostReason, maskAnnotation, outputVariable } from "./annotations.ts";
export * from "./names.ts";
export * from "./notice.ts";
export * from "./object.ts";
export * from "./refusals.ts";
export * from "./resource-type.ts";
export * from "./status.ts";
export * from "./types.ts";
