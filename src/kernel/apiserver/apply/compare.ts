import { jsonEquals, type JsonArray, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { fieldElement } from "./elements.ts";
import { type FieldSet, FieldSetBuilder, isEmptySet } from "./field-set.ts";
import { everythingInside } from "./field-set-of.ts";
import type { TypeNode } from "./type-node.ts";
import { isGranular, isTracked, itemsByElement, memberOf } from "./values.ts";

// Kubernetes' rules for absent and empty values, visible in managedFields:
//   absent -> {}          the place is added          {} -> {a}     only a is added
//   absent -> {a}         the place and a are added   {a} -> {}     only a is removed
//   null -> {a}           only a is added             null -> {}    the place is modified
//   {a} -> "x"            the place is modified, a is removed
// Items of keyed lists and sets are compared by key, so their order does not count.

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

export const isSame = ({ added, modified, removed }: Comparison): boolean =>
  isEmptySet(added) && isEmptySet(modified) && isEmptySet(removed);

/** Compares two states of an object; parts that are the very same value cost nothing. */
export const compare = (old: JsonObject, next: JsonObject, type: TypeNode): Comparison => comparing(old, next, type)();

/** Like `compare`, in two steps of about the same length. */
export function comparing(old: JsonObject, next: JsonObject, type: TypeNode): () => Comparison {
  const walk = new ComparingWalk();
  walk.values(old, next, type);
  return () => walk.result();
}

class ComparingWalk {
  readonly #path: string[] = [];
  readonly #added = new FieldSetBuilder();
  readonly #modified = new FieldSetBuilder();
  readonly #removed = new FieldSetBuilder();

  result(): Comparison {
    return { added: this.#added.build(), modified: this.#modified.build(), removed: this.#removed.build() };
  }

  values(old: JsonValue | undefined, next: JsonValue | undefined, type: TypeNode): void {
    if (old === next) return;
    if (old === undefined && next !== undefined) this.#added.insert(this.#path, everythingInside(next, type));
    else if (old !== undefined && next === undefined) this.#removed.insert(this.#path, everythingInside(old, type));
    else if (old !== undefined && next !== undefined) this.#present(old, next, type);
  }

  #present(old: JsonValue, next: JsonValue, type: TypeNode): void {
    const before = shapeOf(old, type);
    const after = shapeOf(next, type);
    if (before === "members" || after === "members") this.#members(membersIn(old, type), membersIn(next, type), type);
    if (before === "items" || after === "items") this.#items(itemsIn(old, type), itemsIn(next, type), type);
    if (isModified(old, next, before, after)) this.#modified.insert(this.#path);
  }

  #members(old: JsonObject, next: JsonObject, type: TypeNode): void {
    for (const name in next) this.#member(old, next, name, type);
    for (const name in old) if (memberOf(next, name) === undefined) this.#member(old, next, name, type);
  }

  #member(old: JsonObject, next: JsonObject, name: string, type: TypeNode): void {
    const before = memberOf(old, name);
    const after = memberOf(next, name);
    if (before === after) return;
    const child = type.member(name);
    const absent = child.isAlwaysThere ? {} : undefined;
    this.#path.push(fieldElement(name));
    this.values(before === undefined ? absent : before, after === undefined ? absent : after, child);
    this.#path.pop();
  }

  #items(old: JsonArray, next: JsonArray, type: TypeNode): void {
    const before = itemsByElement(old, type);
    const after = itemsByElement(next, type);
    for (const [element, items] of after) this.#item(element, before.get(element) ?? [], items, type);
    for (const [element, items] of before) if (!after.has(element)) this.#item(element, items, [], type);
  }

  /** Items that share a key are treated as one leaf. */
  #item(element: string, old: readonly JsonValue[], next: readonly JsonValue[], type: TypeNode): void {
    this.#path.push(element);
    const [before] = old;
    const [after] = next;
    if (old.length < 2 && next.length < 2) this.values(before, after, type.items);
    else if (old.length > 1 && next.length > 1) {
      if (!jsonEquals(old, next)) this.#modified.insert(this.#path);
    } else if (old.length > 1) {
      this.#removed.insert(this.#path);
      if (after !== undefined) this.#added.insert(this.#path, everythingInside(after, type.items));
    } else {
      this.#added.insert(this.#path);
      if (before !== undefined) this.#removed.insert(this.#path, everythingInside(before, type.items));
    }
    this.#path.pop();
  }
}

type Shape = "members" | "items" | "leaf" | "null";

function shapeOf(value: JsonValue, type: TypeNode): Shape {
  if (value === null) return "null";
  if (isGranular(value, type)) return "members";
  return isTracked(value, type) ? "items" : "leaf";
}

const nothing: JsonObject = Object.freeze({});
const membersIn = (value: JsonValue, type: TypeNode): JsonObject => (isGranular(value, type) ? value : nothing);
const itemsIn = (value: JsonValue, type: TypeNode): JsonArray => (isTracked(value, type) ? value : []);

/** Whether the place itself changed: null is like nothing, but differs from an empty value. */
function isModified(old: JsonValue, next: JsonValue, before: Shape, after: Shape): boolean {
  if (before === after) return before === "leaf" && !jsonEquals(old, next);
  if (before === "null") return after === "leaf" || isBare(next);
  return after === "null" ? before === "leaf" || isBare(old) : true;
}

const isBare = (value: JsonValue): boolean => Object.keys(Object(value)).length === 0;
