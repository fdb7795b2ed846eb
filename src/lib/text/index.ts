export * from "./expand.ts";
export * from "./nearest.ts";
export * from "./outputs.ts";
export * from "./quantity.ts";
export * from "./re2.ts";
