import type { JsonValue } from "#lib/base/index.ts";
import { canonicalJson, parseJson } from "#lib/json/index.ts";
import type { CelFunction } from "./types.ts";

/**
 * `toJson(value)` (canonical text), `fromJson(text)` and `hash(value)`. `hashText` turns the canonical text of a value
 * into a name for it; the caller brings it because cryptography is not portable to browsers synchronously.
 */
export function workflowFunctions(hashText: (canonical: string) => string): readonly CelFunction[] {
  const canonical = ([value]: readonly JsonValue[]): string => canonicalJson(value ?? null);
  return [
    { signature: "toJson(dyn): string", call: canonical },
    { signature: "fromJson(string): dyn", call: fromJson },
    { signature: "hash(dyn): string", call: (args) => hashText(canonical(args)) },
  ];
}

function fromJson([text]: readonly JsonValue[]): JsonValue {
  const parsed = parseJson(typeof text === "string" ? text : "");
  if (parsed.ok) return parsed.value;
  throw new Error(`fromJson: ${parsed.error.message} (at ${parsed.error.offset})`);
}
