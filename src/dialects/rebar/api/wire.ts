import type { JsonObject, JsonValue } from "#lib/base/index.ts";
import type { AnyObject, Collection } from "../objects.ts";
import { asJson } from "../model/read.ts";
import { type Call, isSet, listOfWords } from "./call.ts";

/** An object as clients get it: tasks leave out what only elevated ones have. */
export const onWire = (collection: Collection, object: AnyObject): JsonObject => jsonOnWire(collection, asJson(object));

export function jsonOnWire(collection: Collection, object: JsonObject): JsonObject {
  if (collection !== "tasks") return object;
  const { ExtraRoles, ExtraClaims, ...rest } = object;
  return { ...rest, ...unlessEmpty("ExtraRoles", ExtraRoles), ...unlessEmpty("ExtraClaims", ExtraClaims) };
}

const unlessEmpty = (name: string, value: JsonValue | undefined): JsonObject =>
  Array.isArray(value) && value.length > 0 ? { [name]: value } : {};

export type ParamOwner = "machines" | "stages" | "profiles" | "plugins";

export const isParamOwner = (collection: string): collection is ParamOwner =>
  collection === "machines" || collection === "stages" || collection === "profiles" || collection === "plugins";

/** What `slim` and `params` leave of an object. */
export interface Shape {
  readonly isWithoutMeta: boolean;
  readonly isWithoutParams: boolean;
  /** Only these; undefined: all. */
  readonly params: readonly string[] | undefined;
  readonly isDecoded: boolean;
}

export function shapeOf({ query }: Call): Shape | undefined {
  if (query.size === 0) return undefined;
  const slim = listOfWords(query.get("slim")) ?? [];
  const params = listOfWords(query.get("params"));
  const isDecoded = isSet(query, "decode");
  if (slim.length === 0 && params === undefined && !isDecoded) return undefined;
  return { isWithoutMeta: slim.includes("Meta"), isWithoutParams: slim.includes("Params"), params, isDecoded };
}

export function shaped(collection: Collection, object: JsonObject, shape: Shape | undefined): JsonObject {
  if (shape === undefined) return object;
  const { isWithoutMeta, isWithoutParams, params } = shape;
  const isOwner = isParamOwner(collection);
  const hasLess = isWithoutMeta || (isOwner && (isWithoutParams || params !== undefined));
  if (!hasLess) return object;
  return {
    ...object,
    ...(isWithoutMeta ? { Meta: {} } : {}),
    ...(isOwner && isWithoutParams ? { Params: {} } : {}),
    ...(isOwner && !isWithoutParams && params !== undefined ? { Params: picked(object["Params"], params) } : {}),
    ...(isOwner ? { Partial: true } : {}),
  };
}

export function picked(values: JsonValue | undefined, names: readonly string[]): JsonObject {
  const all = values as JsonObject;
  return Object.fromEntries(names.flatMap((name) => (Object.hasOwn(all, name) ? [[name, all[name]]] : [])));
}
