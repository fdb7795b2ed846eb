export { compileSchema, type ValueCheck } from "./json-schema.ts";
