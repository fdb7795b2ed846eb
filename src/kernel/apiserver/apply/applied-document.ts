import { formatFieldPath, type JsonArray, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { StatusCause } from "#kernel/model/index.ts";
import { formatElement } from "./elements.ts";
import type { TypeNode } from "./type-node.ts";
import { elementOf, isGranular, isTracked, setMember } from "./values.ts";

// A stored list may hold two items of one key, because rules of some built-in kinds allow it; a declaration that does is refused, since
// it would say two things of one field. Kubernetes answers it with a decoding error; here it is 422 with the place of the item.

/** A document as it is applied, or everything that is wrong with it. */
export interface AppliedDocument {
  readonly object: JsonObject;
  readonly causes: readonly StatusCause[];
}

/**
 * Reads a document for apply. Members that are null count as absent (kubectl sends `creationTimestamp: null`), except inside
 * leaves. Items must be addressable and no two may have the same key: the stored list might have such items, a declaration may not.
 * The document itself when nothing had to go. Linear.
 */
export function readApplied(document: JsonObject, type: TypeNode): AppliedDocument {
  const causes: StatusCause[] = [];
  return { object: readMembers(document, type, { path: [], causes }), causes };
}

/** One walk over a document. `path` is where it stands, written out only for what is wrong. */
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
