import { err, type JsonValue, type Result } from "#lib/base/index.ts";
import type { JsonPathError } from "./json-path.ts";

/** A compiled `-o jsonpath=` template. */
export interface JsonPathTemplate {
  render(root: JsonValue): Result<string, string>;
}

/** Compiles kubectl's template form: text and `{…}` with paths, quoted strings, `range` and `end`. */
export function compileJsonPathTemplate(source: string): Result<JsonPathTemplate, JsonPathError> {
  return err({ message: `JSONPath templates are not available yet: ${source}`, column: 1 });
}
