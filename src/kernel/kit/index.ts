export type * from "./client/api-client.ts";
export * from "./client/field-selector.ts";
export * from "./client/label-selector.ts";
export { compareResourceVersions, isAtLeast } from "./client/resource-version.ts";
