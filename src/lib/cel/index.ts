export { isMissingValue } from "./compile.ts";
export * from "./program.ts";
export * from "./template.ts";
export * from "./types.ts";
export * from "./workflow-functions.ts";
