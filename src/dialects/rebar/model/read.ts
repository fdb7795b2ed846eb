import {
  err,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectAt,
  ok,
  type Result,
  textAt,
} from "#lib/base/index.ts";
import { type ModelError, refusal } from "../failure.ts";
import { type AnyObject, type Collection, keyField, type ObjectOf } from "../objects.ts";
import { collections as inOrder } from "../kinds.ts";
import { fieldsOf } from "./fields.ts";
import { flagList, flagText } from "./flags.ts";
import { type Reader, structOf } from "./shape.ts";

/** Sorted. */
export const collections: readonly Collection[] = inOrder.toSorted();

const readers: ReadonlyMap<string, Reader> = new Map(
  Object.entries(fieldsOf).map(([name, fields]) => [name, structOf(fields)]),
);

export const keyOf = (_: Collection, object: AnyObject): string =>
  "Uuid" in object ? object.Uuid : "ID" in object ? object.ID : object.Name;

/** Every field of `objects.ts` is JSON. */
export const asJson = (object: AnyObject): JsonObject => object as unknown as JsonObject;

/**
 * Reads an object that a client sent: exact field names first, then names that differ only in case; unknown fields are
 * dropped. Fields that clients cannot change are taken from `old`, or get their defaults. Names and references are not
 * checked. Values of the wrong type are refused with code 400 and an empty `Type`.
 */
export function readObject<C extends Collection>(
  collection: C,
  sent: JsonValue,
  old?: ObjectOf[C],
): Result<ObjectOf[C], ModelError> {
  const problems: string[] = [];
  const read = readers.get(collection)?.(sent, "", problems);
  const before = old === undefined ? undefined : asJson(old);
  if (!isJsonObject(read) || problems.length > 0) {
    const key = textAt(before ?? read, keyField(collection)) ?? "";
    return err(refusal(400, "", collection, key, ...problems.map((problem) => problem.replace(/^: /, ""))));
  }
  const object = { ...read, ...computed(before), ...keptOf[collection]?.(read, before) };
  return ok(object as unknown as ObjectOf[C]);
}

/** An object of the server's own, with defaults for the rest. */
export const made = <C extends Collection>(collection: C, given: Partial<ObjectOf[C]>): ObjectOf[C] => {
  const { ReadOnly = false, Bundle = "BackingStore" } = given;
  // Every field is JSON.
  const read = readObject(collection, given as JsonObject);
  if (!read.ok) throw new Error(read.error.Messages.join("; "));
  return { ...read.value, ReadOnly, Bundle };
};

const computed = (old: JsonObject | undefined): JsonObject => ({
  Validated: true,
  Available: old?.["Available"] ?? true,
  Errors: old?.["Errors"] ?? [],
  ReadOnly: old?.["ReadOnly"] ?? false,
  Endpoint: "",
  Bundle: old?.["Bundle"] ?? "BackingStore",
});

/** Further fields that clients cannot change, by collection. */
const keptOf: { readonly [C in Collection]?: (read: JsonObject, old: JsonObject | undefined) => JsonObject } = {
  machines: (read, old) => ({
    ...(old === undefined ? { CurrentJob: "" } : { Uuid: old["Uuid"], CurrentJob: old["CurrentJob"] }),
    Secret: secretOf(read, old),
    Arch: read["Arch"] === "" ? "amd64" : read["Arch"],
    Pool: "default",
    PoolAllocated: false,
    PoolStatus: "Free",
    Partial: false,
  }),
  users: (read, old) => ({ Secret: secretOf(read, old) }),
  tasks: (read) => ({ Meta: metaOfTask(read) }),
  stages: () => ({ RunnerWait: true, Partial: false }),
  profiles: () => ({ Partial: false }),
  plugins: () => ({ Partial: false }),
};

/** An empty secret keeps the old one. */
const secretOf = (read: JsonObject, old: JsonObject | undefined): JsonValue =>
  textAt(read, "Secret") ?? textAt(old, "Secret") ?? "";

function metaOfTask(read: JsonObject): JsonObject {
  const flags = flagList(textAt(read, "Meta", "feature-flags"));
  const isSaid = flags.includes("original-exit-codes") || flags.includes("sane-exit-codes");
  return { ...objectAt(read, "Meta"), "feature-flags": flagText(isSaid ? flags : [...flags, "sane-exit-codes"]) };
}
