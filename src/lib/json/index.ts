export * from "./canonical.ts";
export * from "./indent.ts";
export * from "./json-patch.ts";
export * from "./json-path.ts";
export * from "./json-path-template.ts";
export * from "./merge-patch.ts";
export * from "./parse.ts";
export * from "./pointer.ts";
