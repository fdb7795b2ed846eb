export * from "./builder.ts";
export * from "./crd.ts";
export * from "./kind.ts";
export * from "./object-meta.ts";
export * from "./schema.ts";
