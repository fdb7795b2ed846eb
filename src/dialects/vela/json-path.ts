import { err, isJsonObject, type JsonValue, ok, type Result } from "#lib/base/index.ts";

// Paths of `parameterKey`, `apply-once` and patches: `a.b[0].c["x-y"]`. Unquoted names may contain `-` and `/`.

export type JsonSteps = readonly (string | number)[];

const step = /\.?([^.[\]]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/gy;
/** Lists are not padded beyond this. */
const maxIndex = 10_000;

export function readJsonSteps(text: string): Result<JsonSteps, string> {
  const steps: (string | number)[] = [];
  step.lastIndex = 0;
  while (step.lastIndex < text.length) {
    const from = step.lastIndex;
    const match = step.exec(text);
    if (match === null) return err(`invalid path ${JSON.stringify(text)} at character ${from + 1}`);
    const [, name, index, quoted] = match;
    if (index !== undefined && Number(index) > maxIndex)
      return err(`invalid path ${JSON.stringify(text)}: index ${index} is over ${maxIndex}`);
    steps.push(index === undefined ? (name ?? (quoted ?? "").replace(/\\(.)/g, "$1")) : Number(index));
  }
  return steps.length === 0 ? err("invalid path: it is empty") : ok(steps);
}

export function jsonAt(value: JsonValue | undefined, steps: JsonSteps): JsonValue | undefined {
  let found = value;
  for (const part of steps) {
    if (typeof part === "number") found = Array.isArray(found) ? (found as readonly JsonValue[])[part] : undefined;
    else found = isJsonObject(found) && Object.hasOwn(found, part) ? found[part] : undefined;
  }
  return found;
}

/** Replaces the value at the path. Missing objects are created; lists are padded with `{}`. */
export function withJsonAt(value: JsonValue | undefined, steps: JsonSteps, leaf: JsonValue): JsonValue {
  const [first, ...rest] = steps;
  if (first === undefined) return leaf;
  if (typeof first === "number") {
    const items: JsonValue[] = Array.isArray(value) ? [...(value as readonly JsonValue[])] : [];
    while (items.length <= first) items.push({});
    items[first] = withJsonAt(items[first], rest, leaf);
    return items;
  }
  const object = new Map(isJsonObject(value) ? Object.entries(value) : []);
  object.set(first, withJsonAt(object.get(first), rest, leaf));
  // Own members, so that "__proto__" is an ordinary name.
  return Object.fromEntries<JsonValue | undefined>(object);
}
