export * from "./child-end.node.ts";
export * from "./directories.node.ts";
export * from "./ids.node.ts";
export * from "./private-path.node.ts";
export * from "./process-identity.node.ts";
export * from "./process-lock.node.ts";
export * from "./replace-file.node.ts";
