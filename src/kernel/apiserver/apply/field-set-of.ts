import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { fieldElement, sortElements } from "./elements.ts";
import { type FieldSet, leaf } from "./field-set.ts";
import type { TypeNode } from "./type-node.ts";
import { isEmptyObject, isGranular, isTracked, itemsByElement } from "./values.ts";

/**
 * Which structs count as fields themselves. declared: only those that are all they say (empty ones), because the fields inside speak
 * for the others. new: all, but those a built-in kind always has (a comparison with nothing finds them there). all: every one, as in a
 * value that came as a whole.
 */
type Extent = "declared" | "new" | "all";

/**
 * The fields a document declares. Leaves, items and keys of maps are members; a field of the schema is one only when it is a leaf, null
 * or an empty object, because the fields inside speak for it. An empty keyed list declares nothing. Linear in the document.
 */
export const fieldSetOf = (object: JsonObject, type: TypeNode): FieldSet =>
  inside(object, type, "declared", false) ?? leaf;

/** What a new object adds: the same as `compare({}, object, type).added`, in one walk. */
export const fieldsOfNew = (object: JsonObject, type: TypeNode): FieldSet => inside(object, type, "new", false) ?? leaf;

/** What is inside a value that came or went as a whole: every place there is. Undefined when the value is a leaf. */
export const everythingInside = (value: JsonValue, type: TypeNode): FieldSet | undefined =>
  inside(value, type, "all", false);

/** The node of a value, itself a member when `isOwn`; undefined when it is not and nothing is inside. */
function inside(value: JsonValue, type: TypeNode, extent: Extent, isOwn: boolean): FieldSet | undefined {
  const node = isGranular(value, type)
    ? ofMembers(value, type, extent, isOwn)
    : isTracked(value, type)
      ? ofItems(value, type, extent, isOwn)
      : undefined;
  return node ?? (isOwn ? leaf : undefined);
}

function ofMembers(object: JsonObject, type: TypeNode, extent: Extent, isOwn: boolean): FieldSet | undefined {
  const node: Record<string, FieldSet> = isOwn ? { ".": leaf } : {};
  let isEmpty = true;
  for (const name of Object.keys(object).sort()) {
    const value = object[name];
    if (value === undefined) continue;
    const child = type.member(name);
    const counts = isField(value, child, extent, type.isNamed(name));
    const part = inside(value, child, counts && extent === "new" ? "all" : extent, counts);
    if (part === undefined) continue;
    node[fieldElement(name)] = part;
    isEmpty = false;
  }
  return isEmpty ? undefined : node;
}

function isField(value: JsonValue, type: TypeNode, extent: Extent, isNamed: boolean): boolean {
  if (extent === "all") return true;
  if (extent === "new") return !(type.isAlwaysThere && isJsonObject(value));
  return !isNamed || isLeaf(value, type);
}

const isLeaf = (value: JsonValue, type: TypeNode): boolean =>
  value === null || isEmptyObject(value) || !(isGranular(value, type) || isTracked(value, type));

/** Items that share a key are owned as one: the key is a member and nothing inside it is. */
function ofItems(list: JsonArray, type: TypeNode, extent: Extent, isOwn: boolean): FieldSet | undefined {
  const items = itemsByElement(list, type);
  if (items.size === 0) return undefined;
  const node: Record<string, FieldSet> = isOwn ? { ".": leaf } : {};
  for (const element of sortElements([...items.keys()])) {
    const [item, ...duplicates] = items.get(element) ?? [];
    const isOne = item !== undefined && duplicates.length === 0;
    node[element] = (isOne ? inside(item, type.items, extent, true) : undefined) ?? leaf;
  }
  return node;
}
