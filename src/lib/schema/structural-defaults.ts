import type { FieldPath, JsonValue } from "#lib/base/index.ts";
import { compileSchema } from "./compile.ts";
import { type FieldError, fieldError } from "./field-error.ts";
import type { Schema } from "./schema.ts";
import type { CompileRule } from "./validation-run.ts";

/** Defaults are stored as they stand: each must be pruned, valid, and pass the rules beside it. */
export function checkDefaults(
  schema: Schema,
  path: FieldPath,
  compileRule: CompileRule | undefined,
): readonly FieldError[] {
  const { properties = {}, additionalProperties: rest, items } = schema;
  const inside = (child: Schema, ...parts: FieldPath) => checkDefaults(child, [...path, ...parts], compileRule);
  return [
    ...(schema.default === undefined ? [] : checkDefault(schema, schema.default, [...path, "default"], compileRule)),
    ...Object.entries(properties).flatMap(([name, child]) => inside(child, "properties", name)),
    ...(typeof rest === "object" ? inside(rest, "additionalProperties") : []),
    ...(items === undefined ? [] : inside(items, "items")),
  ];
}

/** As a value that is new, and as one that stays: transition rules are asked about the second. */
function checkDefault(
  schema: Schema,
  preset: JsonValue,
  at: FieldPath,
  compileRule: CompileRule | undefined,
): readonly FieldError[] {
  const compiled = compileSchema(schema, compileRule === undefined ? {} : { compileRule });
  const { unknown } = compiled.prune(preset);
  if (unknown.length > 0)
    return [fieldError.invalid(at, preset, `must not contain unknown fields: ${unknown.join(", ")}`)];
  const errors = compiled.validate(preset, { at });
  return errors.length > 0 ? errors : compiled.validate(preset, { at, old: preset });
}
