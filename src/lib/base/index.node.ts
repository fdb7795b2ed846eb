export * from "./directories.node.ts";
export * from "./ids.node.ts";
