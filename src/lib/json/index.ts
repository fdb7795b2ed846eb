export * from "./canonical.ts";
export * from "./indent.ts";
export * from "./json-patch.ts";
export { compileJsonPath, type JsonPath, type JsonPathError } from "./json-path.ts";
export * from "./json-path-template.ts";
export * from "./merge-patch.ts";
export {
  decodeUtf8,
  type DuplicateKey,
  type JsonDocument,
  type JsonError,
  type JsonReadLimits,
  parseJson,
  readJson,
} from "./parse.ts";
export * from "./pointer.ts";
export * from "./shape.ts";
