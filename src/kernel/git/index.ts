export * from "./access.ts";
export * from "./failure.ts";
export * from "./git.ts";
export * from "./source-url.ts";
