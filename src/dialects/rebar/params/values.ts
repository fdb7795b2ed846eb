import { isJsonObject, jsonEquals, type JsonValue, valueAt } from "#lib/base/index.ts";
import { isBase64 } from "#lib/schema/index.ts";
import type { Param, Params } from "../objects.ts";
import type { World } from "../world.ts";
import { compileSchema } from "#lib/jsonschema/index.ts";

/** Whether a value is SecureData: `Key`, `Nonce` and `Payload` in base64. */
export const isSealed = (value: JsonValue | undefined): boolean =>
  isJsonObject(value) &&
  Object.keys(value).length === 3 &&
  ["Key", "Nonce", "Payload"].every((name) => {
    const part = valueAt(value, name);
    return typeof part === "string" && part !== "" && isBase64(part);
  });

/** Checks values against their params. Values that are unchanged from `old` are not checked again. */
export function valueErrors(values: Params, world: World, old?: Params): readonly string[] {
  if (values === old) return [];
  return Object.entries(values).flatMap(([name, value]) => {
    if (value === undefined || (old !== undefined && Object.hasOwn(old, name) && jsonEquals(old[name], value)))
      return [];
    return valueError(name, value, world.get("params", name));
  });
}

function valueError(name: string, value: JsonValue, param: Param | undefined): readonly string[] {
  if (param === undefined) return [];
  // The message must not repeat the plain text of a secret.
  if (param.Secure) return isSealed(value) ? [] : [`Key '${name}': expected SecureData with Key, Nonce and Payload`];
  const wrong = openValueError(param, value);
  return wrong === undefined ? [] : [`Key '${name}': invalid val '${shown(value)}': ${wrong}`];
}

/** Checks an unsealed value against the param's schema. */
export function openValueError(param: Param, value: JsonValue): string | undefined {
  const check = compileSchema(param.Schema);
  return check.ok ? check.value(value) : `the schema of the param is unusable: ${check.error}`;
}

const shown = (value: JsonValue): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
};

/** Checks a param's schema and its default. */
export function schemaErrors(param: Param): readonly string[] {
  const check = compileSchema(param.Schema);
  if (!check.ok) return [`Invalid Schema: ${check.error}`];
  const fallback = defaultOf(param);
  if (fallback === undefined) return [];
  const wrong = check.value(fallback);
  return wrong === undefined ? [] : [`Error in default value: ${wrong}`];
}

/** The schema's default; an explicit null counts. */
export const defaultOf = (param: Param): JsonValue | undefined =>
  isJsonObject(param.Schema) && Object.hasOwn(param.Schema, "default") ? param.Schema["default"] : undefined;
