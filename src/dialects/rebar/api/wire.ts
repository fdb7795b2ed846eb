import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import type { SecureOwner } from "../accounts.ts";
import type { AnyObject, Collection } from "../objects.ts";
import { asJson } from "../model/read.ts";

/** An object as clients get it: tasks leave out what only elevated ones have. */
export const onWire = (collection: Collection, object: AnyObject): JsonObject => jsonOnWire(collection, asJson(object));

export function jsonOnWire(collection: Collection, object: JsonObject): JsonObject {
  if (collection !== "tasks") return object;
  const { ExtraRoles, ExtraClaims, ...rest } = object;
  return { ...rest, ...unlessEmpty("ExtraRoles", ExtraRoles), ...unlessEmpty("ExtraClaims", ExtraClaims) };
}

const unlessEmpty = (name: string, value: JsonValue | undefined): JsonObject =>
  Array.isArray(value) && value.length > 0 ? { [name]: value } : {};

export type ParamOwner = SecureOwner;

export const isParamOwner = (collection: string): collection is ParamOwner =>
  collection === "machines" || collection === "stages" || collection === "profiles" || collection === "plugins";

export function picked(values: JsonValue | undefined, names: readonly string[]): JsonObject {
  const all = values as JsonObject;
  return Object.fromEntries(names.flatMap((name) => (Object.hasOwn(all, name) ? [[name, all[name]]] : [])));
}
