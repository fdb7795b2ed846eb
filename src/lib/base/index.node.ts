export * from "./ids.node.ts";
