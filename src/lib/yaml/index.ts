export * from "./nodes.ts";
export { readPlain } from "./plain.ts";
export * from "./read.ts";
export * from "./write.ts";
