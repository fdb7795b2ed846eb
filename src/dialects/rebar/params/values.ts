import { isJsonObject, jsonEquals, type JsonValue, valueAt } from "#lib/base/index.ts";
import { isBase64 } from "#lib/schema/index.ts";
import type { Param, Params } from "../objects.ts";
import type { World } from "../world.ts";
import { compileSchema } from "./json-schema.ts";

/** A sealed value, as it travels: see section 9.7 of the API's description. */
export const isSealed = (value: JsonValue | undefined): boolean =>
  isJsonObject(value) &&
  Object.keys(value).length === 3 &&
  ["Key", "Nonce", "Payload"].every((name) => {
    const part = valueAt(value, name);
    return typeof part === "string" && part !== "" && isBase64(part);
  });

/** What is wrong with values by their params; those that `old` has as well were checked when it was stored. */
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
  // Plain text of what should have been sealed is not repeated.
  if (param.Secure) return isSealed(value) ? [] : [`Key '${name}': expected SecureData with Key, Nonce and Payload`];
  const wrong = openValueError(param, value);
  return wrong === undefined ? [] : [`Key '${name}': invalid val '${shown(value)}': ${wrong}`];
}

/** What is wrong with the value of a param, sealed or not, once it is open. */
export function openValueError(param: Param, value: JsonValue): string | undefined {
  const check = compileSchema(param.Schema);
  return check.ok ? check.value(value) : `the schema of the param is unusable: ${check.error}`;
}

const shown = (value: JsonValue): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`;
};

/** What is wrong with a param's schema, and with the default in it. */
export function schemaErrors(param: Param): readonly string[] {
  const check = compileSchema(param.Schema);
  if (!check.ok) return [`Invalid Schema: ${check.error}`];
  const fallback = defaultOf(param);
  if (fallback === undefined) return [];
  const wrong = check.value(fallback);
  return wrong === undefined ? [] : [`Error in default value: ${wrong}`];
}

/** The value of last resort; a member that is null counts. */
export const defaultOf = (param: Param): JsonValue | undefined =>
  isJsonObject(param.Schema) && Object.hasOwn(param.Schema, "default") ? param.Schema["default"] : undefined;
