import { formatFieldPath, type JsonArray, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { StatusCause } from "#kernel/model/index.ts";
import { formatElement } from "./elements.ts";
import type { TypeNode } from "./type-node.ts";
import { elementOf, isGranular, isTracked, setMember } from "./values.ts";

// A stored list may hold two items of one key, but a document that declares two contradicts itself: 422 with the place.

export interface AppliedDocument {
  readonly object: JsonObject;
  readonly causes: readonly StatusCause[];
}

/** Nulls count as absent, except inside leaves. Items must have distinct keys. Returns the document if unchanged. */
export function readApplied(document: JsonObject, type: TypeNode): AppliedDocument {
  const causes: StatusCause[] = [];
  return { object: readMembers(document, type, { path: [], causes }), causes };
}

/** `path` is the current position, formatted only for errors. */
interface Reading {
  readonly path: (string | number)[];
  readonly causes: StatusCause[];
}

function readValue(value: JsonValue, type: TypeNode, at: string | number, reading: Reading): JsonValue {
  if (typeof value !== "object") return value;
  reading.path.push(at);
  const read = isGranular(value, type)
    ? readMembers(value, type, reading)
    : isTracked(value, type)
      ? readItems(value, type, reading)
      : value;
  reading.path.pop();
  return read;
}

function readMembers(object: JsonObject, type: TypeNode, reading: Reading): JsonObject {
  const copy: Record<string, JsonValue | undefined> = {};
  let hasChanged = false;
  for (const name of Object.keys(object)) {
    const value = object[name];
    const read = value === undefined || value === null ? undefined : readValue(value, type.member(name), name, reading);
    hasChanged ||= read !== value;
    if (read !== undefined) setMember(copy, name, read);
  }
  return hasChanged ? copy : object;
}

function readItems(list: JsonArray, type: TypeNode, reading: Reading): JsonArray {
  const seen = new Set<string>();
  const items = list.map((item, index) => {
    const element = elementOf(item, type);
    const field = () => formatFieldPath([...reading.path, index]);
    if (element === undefined) reading.causes.push(unaddressable(field(), type));
    else if (seen.has(element)) reading.causes.push(duplicate(field(), element));
    else seen.add(element);
    return readValue(item, type.items, index, reading);
  });
  return items.some((item, index) => item !== list[index]) ? items : list;
}

const unaddressable = (field: string, { lists, keys }: TypeNode): StatusCause =>
  lists === "set"
    ? { reason: "FieldValueInvalid", field, message: "Invalid value: items of a set must be scalars" }
    : {
        reason: "FieldValueRequired",
        field,
        message: `Required value: the item must have its key (${keys.join(", ")})`,
      };

const duplicate = (field: string, element: string): StatusCause => ({
  reason: "FieldValueDuplicate",
  field,
  message: `Duplicate value: ${formatElement(element)}`,
});
