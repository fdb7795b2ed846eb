import type { FieldPath } from "#lib/base/index.ts";
import type { Schema } from "./schema.ts";

/** Field names an object at `path` may have, for suggestions; none if open or unknown. O(length of the path). */
export function fieldsAt(schema: Schema, path: FieldPath): readonly string[] {
  let at: Schema | undefined = schema;
  for (const name of path) at = at === undefined ? undefined : memberOf(at, name);
  return Object.keys(at?.properties ?? {});
}

function memberOf({ items, properties, additionalProperties }: Schema, name: string | number): Schema | undefined {
  if (typeof name === "number") return items;
  if (properties !== undefined && Object.hasOwn(properties, name)) return properties[name];
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}
