import { type JsonArray, jsonEquals, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import type { TypeNode } from "./type-node.ts";
import { elementOf, isGranular, isTracked, itemsByElement, memberOf, setMember } from "./values.ts";

// Merging decides values and order; owners follow from comparing. An example with a keyed list:
//   live     {replicas: 1, containers: [{name: "a", image: "x"}, {name: "sidecar"}]}
//   applied  {containers: [{name: "a", image: "y"}]}
//   merged   {replicas: 1, containers: [{name: "a", image: "y"}, {name: "sidecar"}]}

/** The applied value wins; keyed items are matched, sets united. The document must have passed `readApplied`. */
export function merge(live: JsonObject, applied: JsonObject, type: TypeNode): JsonObject {
  let merged: Record<string, JsonValue | undefined> | undefined;
  for (const name of Object.keys(applied)) {
    const wanted = applied[name];
    if (wanted === undefined) continue;
    const present = memberOf(live, name);
    const value = present === undefined ? wanted : mergeValues(present, wanted, type.member(name));
    if (value === present) continue;
    merged ??= { ...live };
    setMember(merged, name, value);
  }
  return merged ?? live;
}

/** Values of different shapes are replaced. */
function mergeValues(live: JsonValue, applied: JsonValue, type: TypeNode): JsonValue {
  if (isGranular(live, type) && isGranular(applied, type)) return merge(live, applied, type);
  if (isTracked(live, type) && isTracked(applied, type)) return mergeLists(live, applied, type);
  return jsonEquals(live, applied) ? live : applied;
}

/** Applied items keep their order; an item only in the live list stays before the next common one. */
function mergeLists(live: JsonArray, applied: JsonArray, type: TypeNode): JsonArray {
  const present = itemsByElement(live, type);
  const wanted = new Set(applied.map((item) => elementOf(item, type)));
  const next = nextShared(applied, present, type);
  const merged: JsonValue[] = [];
  let at = 0;
  const keepUntil = (element: string | undefined): void => {
    for (; at < live.length; at++) {
      const item = live[at] ?? null;
      const own = elementOf(item, type);
      if (own !== undefined && own === element) return;
      if (own === undefined || !wanted.has(own)) merged.push(item);
    }
  };
  for (const [index, item] of applied.entries()) {
    keepUntil(next[index]);
    const element = elementOf(item, type);
    merged.push(mergeItem(element === undefined ? [] : (present.get(element) ?? []), item, type));
    if (element === next[index]) at++;
  }
  keepUntil(undefined);
  return isSameList(live, merged) ? live : merged;
}

/** For each applied item, the element of the first item from there on that the live list has. */
function nextShared(
  applied: JsonArray,
  present: ReadonlyMap<string, unknown>,
  type: TypeNode,
): readonly (string | undefined)[] {
  const next: (string | undefined)[] = [];
  let shared: string | undefined;
  for (let index = applied.length - 1; index >= 0; index--) {
    const element = elementOf(applied[index] ?? null, type);
    if (element !== undefined && present.has(element)) shared = element;
    next[index] = shared;
  }
  return next;
}

function mergeItem(live: readonly JsonValue[], applied: JsonValue, type: TypeNode): JsonValue {
  const [only, ...duplicates] = live;
  return only === undefined || duplicates.length > 0 ? applied : mergeValues(only, applied, type.items);
}

const isSameList = (a: JsonArray, b: JsonArray): boolean =>
  a.length === b.length && a.every((item, index) => item === b[index]);
