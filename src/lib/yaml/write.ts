import type { JsonValue } from "#lib/base/index.ts";

/** Writes one document as kubectl does; ends with a line break. */
export function writeYaml(value: JsonValue): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}

/** Writes several documents, separated by `---`. */
export function writeYamlDocuments(values: readonly JsonValue[]): string {
  return values.map(writeYaml).join("---\n");
}
