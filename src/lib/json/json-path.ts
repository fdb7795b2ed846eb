import { err, type JsonValue, type Result } from "#lib/base/index.ts";

/** Why a path does not compile. `column` counts from 1. */
export interface JsonPathError {
  readonly message: string;
  readonly column: number;
}

/** A compiled path: one step-limited function from a value to everything the path selects, in document order. */
export interface JsonPath {
  readonly source: string;
  /** A missing member selects nothing. The error names the step limit, the only way to fail. */
  find(root: JsonValue): Result<readonly JsonValue[], string>;
}

/**
 * Compiles Kubernetes' simple JSONPath: `.a.b[0].c`, `[*]`, `..name`, `['a.b']`, `.a\.b`, slices, unions and filters such
 * as `[?(@.type=="Ready")].status`. A leading `$` and surrounding braces are optional.
 */
export function compileJsonPath(source: string): Result<JsonPath, JsonPathError> {
  return err({ message: `JSONPath is not available yet: ${source}`, column: 1 });
}
