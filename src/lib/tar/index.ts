export * from "./entry.ts";
export * from "./read.ts";
export * from "./write.ts";
