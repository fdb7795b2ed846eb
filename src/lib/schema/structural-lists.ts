import type { FieldPath } from "#lib/base/index.ts";
import { type FieldError, fieldError } from "./field-error.ts";
import type { Schema } from "./schema.ts";

/** What a structural schema may say of a list: which items it has, and how apply tells them apart. */
export function checkList(schema: Schema, path: FieldPath): readonly FieldError[] {
  const listType = schema["x-kubernetes-list-type"];
  if (listType !== undefined && schema.type !== "array")
    return [typeError(path, schema, "array", "x-kubernetes-list-type")];
  if (schema.type === "array" && schema.items === undefined)
    return [fieldError.required([...path, "items"], "must be specified")];
  const { items = {} } = schema;
  const errors = [...checkKeys(schema, path)];
  if (listType === "set") errors.push(...checkSetItem(items, [...path, "items"]));
  if (listType === "map") errors.push(...checkKeyedList(schema, items, path));
  // Null has no identity: two nulls would be one item of a set, and no item of a keyed list.
  if ((listType === "set" || listType === "map") && items.nullable === true) {
    const detail = `cannot be nullable when x-kubernetes-list-type is ${listType}`;
    errors.push(fieldError.forbidden([...path, "items", "nullable"], detail));
  }
  return errors;
}

/** A keyword that stands with one type only. */
export function typeError(path: FieldPath, { type }: Schema, wanted: string, keyword: string): FieldError {
  const detail = `must be ${wanted} if ${keyword} is specified`;
  const at = [...path, "type"];
  return type === undefined ? fieldError.required(at, detail) : fieldError.invalid(at, type, detail);
}

/** Keys mean something in a keyed list only. */
function checkKeys(schema: Schema, path: FieldPath): readonly FieldError[] {
  const listType = schema["x-kubernetes-list-type"];
  if (listType === "map" || (schema["x-kubernetes-list-map-keys"] ?? []).length === 0) return [];
  const at = [...path, "x-kubernetes-list-type"];
  const detail = "must be map if x-kubernetes-list-map-keys is non-empty";
  return [listType === undefined ? fieldError.required(at, detail) : fieldError.invalid(at, listType, detail)];
}

/** An item of a set is compared as a whole, so that nothing in it can be owned by itself. */
function checkSetItem(items: Schema, path: FieldPath): readonly FieldError[] {
  const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
  const [listType, mapType] = [items["x-kubernetes-list-type"], items["x-kubernetes-map-type"]];
  if (items.type === "array" && listType !== undefined && listType !== "atomic")
    return [fieldError.invalid([...path, "x-kubernetes-list-type"], listType, detail)];
  if (items.type === "object" && mapType !== "atomic")
    return [fieldError.invalid([...path, "x-kubernetes-map-type"], mapType ?? null, detail)];
  return [];
}

/** A list of type map is a map in disguise: its items are objects, told apart by scalar keys that are always there. */
function checkKeyedList(schema: Schema, items: Schema, path: FieldPath): readonly FieldError[] {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const at = [...path, "x-kubernetes-list-map-keys"];
  if (keys.length === 0) return [fieldError.required(at, "must not be empty if x-kubernetes-list-type is map")];
  if (items.type !== "object") {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    return [fieldError.invalid([...path, "items", "type"], items.type ?? "", detail)];
  }
  const repeated = new Set(keys).size < keys.length;
  return [
    ...(repeated ? [fieldError.invalid(at, keys, "must not contain duplicate entries")] : []),
    ...keys.flatMap((key) => checkKey(items, key, keys, path)),
  ];
}

/** A key that could be absent would make two items without it the same one, and apply would merge them. */
function checkKey(items: Schema, key: string, keys: readonly string[], path: FieldPath): readonly FieldError[] {
  const properties = items.properties ?? {};
  const member = Object.hasOwn(properties, key) ? properties[key] : undefined;
  if (member === undefined) {
    const at = [...path, "x-kubernetes-list-map-keys"];
    return [fieldError.invalid(at, keys, "entries must all be names of item properties")];
  }
  const at = [...path, "items", "properties", key];
  if (member.type === "object" || member.type === "array") {
    const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
    return [fieldError.invalid([...at, "type"], member.type, detail)];
  }
  const reason = "this property is in x-kubernetes-list-map-keys, so it";
  const given = items.required?.includes(key) === true || member.default !== undefined;
  return [
    ...(given
      ? []
      : [fieldError.required([...at, "default"], `${reason} must have a default or be a required property`)]),
    ...(member.nullable === true ? [fieldError.forbidden([...at, "nullable"], `${reason} cannot be nullable`)] : []),
  ];
}
