import { type FieldPath, formatFieldPath, isJsonObject, type JsonValue } from "#lib/base/index.ts";

// Schemas name fields as texts (`spec.steps.a.retry.limit`), which only the document can split: a key may contain dots.

/** Whether a field is the parent or inside it. */
export const isWithin = (field: string, parent: string): boolean =>
  field.startsWith(parent) && [undefined, ".", "["].includes(field[parent.length]);

/** `a.b[0]` → `a.b` → `a` → `a`. */
export const parentOf = (field: string): string => field.replace(/(?:\.[^.[\]]+|\[[^\]]*\])$/, "");

/** The path of a field in the document: `spec.steps.a.b` → `["spec", "steps", "a", "b"]`. A missing part ends it. */
export function fieldTokens(document: JsonValue, field: string): FieldPath {
  const path: (string | number)[] = [];
  let value: JsonValue | undefined = document;
  for (;;) {
    const next = memberToward(value, path, field);
    if (next === undefined) break;
    path.push(next.name);
    value = next.value;
  }
  const rest = field.slice(formatFieldPath(path).length).replace(/^\./, "");
  return rest === "" ? path : [...path, rest];
}

function memberToward(value: JsonValue | undefined, path: FieldPath, field: string) {
  if (typeof value !== "object" || value === null) return undefined;
  const members: readonly (readonly [string | number, JsonValue | undefined])[] = isJsonObject(value)
    ? Object.entries(value)
    : [...value.entries()];
  const found = members.find(([name]) => isWithin(field, formatFieldPath([...path, name])));
  return found === undefined ? undefined : { name: found[0], value: found[1] };
}
