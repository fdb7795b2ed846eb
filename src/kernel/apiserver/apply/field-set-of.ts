import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { fieldElement, sortElements } from "./elements.ts";
import { difference, type FieldSet, leaf, onlyBelow, withoutSubtrees } from "./field-set.ts";
import type { TypeNode } from "./type-node.ts";
import { isEmptyObject, isGranular, isTracked, itemsByElement } from "./values.ts";

// `inScope` limits what a write may touch, `recorded` what an entry keeps. In between the object's names count as
// declared, so that pruning keeps metadata.

export interface Scope {
  /** `status`, `scale`; empty for the object itself. */
  readonly subresource: string;
  /** The kind keeps its status apart: other writes do not reach it. */
  readonly hasStatus: boolean;
}

const status: FieldSet = { "f:status": leaf };

/** Fields without owners: they name the object or belong to the server. */
const unowned: FieldSet = {
  "f:apiVersion": leaf,
  "f:kind": leaf,
  "f:metadata": {
    ".": leaf,
    "f:creationTimestamp": leaf,
    "f:generation": leaf,
    "f:managedFields": leaf,
    "f:name": leaf,
    "f:namespace": leaf,
    "f:resourceVersion": leaf,
    "f:selfLink": leaf,
    "f:uid": leaf,
  },
};

export function inScope(set: FieldSet, { subresource, hasStatus }: Scope): FieldSet {
  if (subresource === "status") return onlyBelow(set, "f:status");
  return hasStatus ? withoutSubtrees(set, status) : set;
}

export const recorded = (set: FieldSet): FieldSet => difference(set, unowned);

/** Structs that are fields. declared: empty ones. new: all but those a built-in kind always has. all: every one. */
type Extent = "declared" | "new" | "all";

/** The fields a document declares. A struct counts only when null or empty; an empty keyed list declares nothing. */
export const fieldSetOf = (object: JsonObject, type: TypeNode): FieldSet =>
  inside(object, type, "declared", false) ?? leaf;

/** What a new object adds: `compare({}, object, type).added` in one walk. */
export const fieldsOfNew = (object: JsonObject, type: TypeNode): FieldSet => inside(object, type, "new", false) ?? leaf;

export const everythingInside = (value: JsonValue, type: TypeNode): FieldSet | undefined =>
  inside(value, type, "all", false);

/** The node of a value, itself a member if `isOwn`; undefined when it has nothing. */
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

/** Items that share a key are owned as one, without anything inside. */
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
