import { getOrAdd, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { canonicalJson } from "#lib/json/index.ts";
import { valueElement } from "./elements.ts";
import type { TypeNode } from "./type-node.ts";

// A value of another type than the schema's is a leaf: schemas change, and walks must not fail on it.

/** True when an object's members have owners of their own. */
export const isGranular = (value: JsonValue | undefined, type: TypeNode): value is JsonObject =>
  isJsonObject(value) && type.objects === "granular";

/** True when a list's items have owners of their own. */
export const isTracked = (value: JsonValue | undefined, type: TypeNode): value is JsonArray =>
  Array.isArray(value) && type.lists !== "atomic";

export const isEmptyObject = (value: JsonValue | undefined): boolean => {
  if (!isJsonObject(value)) return false;
  for (const _name in value) return false;
  return true;
};

/** An own member: `constructor` and `__proto__` are names like any other. */
export const memberOf = (object: JsonObject, name: string): JsonValue | undefined =>
  Object.hasOwn(object, name) ? object[name] : undefined;

/** Assigning to `__proto__` would set the prototype. */
export function setMember(object: Record<string, JsonValue | undefined>, name: string, value: JsonValue): void {
  if (name === "__proto__") {
    Object.defineProperty(object, name, { value, enumerable: true, writable: true, configurable: true });
  } else object[name] = value;
}

// Elements of frozen items, which recur in every write.
const elements = new WeakMap<object, { readonly type: TypeNode; readonly element: string }>();

/** `k:{"name":"c"}` or `v:"x"`; undefined without a key, or for a non-scalar in a set. */
export function elementOf(item: JsonValue, type: TypeNode): string | undefined {
  if (type.lists === "set") return typeof item === "object" ? undefined : valueElement(item);
  if (!isJsonObject(item)) return undefined;
  const known = elements.get(item);
  if (known !== undefined && known.type === type) return known.element;
  const element = elementOfKeys(item, type);
  if (element !== undefined && Object.isFrozen(item)) elements.set(item, { type, element });
  return element;
}

function elementOfKeys(item: JsonObject, type: TypeNode): string | undefined {
  let fields = "";
  for (const name of type.keys) {
    const value = memberOf(item, name) ?? type.keyDefault(name);
    if (value === undefined) continue;
    const text = typeof value === "object" ? canonicalJson(value) : JSON.stringify(value);
    fields += `${fields === "" ? "" : ","}${JSON.stringify(name)}:${text}`;
  }
  return fields === "" ? undefined : `k:{${fields}}`;
}

/** The items of a list by element; those without one are left out. */
export function itemsByElement(list: JsonArray, type: TypeNode): Map<string, JsonValue[]> {
  const items = new Map<string, JsonValue[]>();
  for (const item of list) {
    const element = elementOf(item, type);
    if (element === undefined) continue;
    getOrAdd(items, element, () => []).push(item);
  }
  return items;
}
