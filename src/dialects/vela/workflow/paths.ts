import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

// Paths as documents write them: `a.b[0].c["x-y"]`. Unquoted segments may contain `-` and `/`.

export type Segment = string | number;

/** Undefined if malformed. */
export function parsePath(text: string): readonly Segment[] | undefined {
  const segments: Segment[] = [];
  const part = /\.?(?:([^.[\]"\s]+)|"((?:[^"\\]|\\.)*)")|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/gy;
  let end = 0;
  for (let match = part.exec(text); match !== null; match = part.exec(text)) {
    const [, plain, quoted, index, key] = match;
    segments.push(index === undefined ? (plain ?? quoted ?? key ?? "") : Number(index));
    end = part.lastIndex;
  }
  return segments.length > 0 && end === text.length ? segments : undefined;
}

/** Undefined if the path does not exist. */
export function getAt(value: JsonValue | undefined, path: readonly Segment[]): JsonValue | undefined {
  let found = value;
  for (const segment of path) {
    if (Array.isArray(found)) found = typeof segment === "number" ? found[segment] : undefined;
    else found = isJsonObject(found) && Object.hasOwn(found, segment) ? found[segment] : undefined;
  }
  return found;
}

/** Bounds what a document can make grow. */
const longestList = 1_000;

/** A copy with this value; missing objects are created, and lists are padded with `{}`. */
export function setAt(value: JsonValue | undefined, path: readonly Segment[], leaf: JsonValue): JsonValue {
  const [head, ...rest] = path;
  if (head === undefined) return leaf;
  if (typeof head === "number") {
    const list = Array.isArray(value) ? [...value] : [];
    const index = Math.min(head, longestList);
    while (list.length < index) list.push({});
    list[index] = setAt(list[index], rest, leaf);
    return list;
  }
  const object: JsonObject = isJsonObject(value) ? value : {};
  const inner = Object.hasOwn(object, head) ? object[head] : undefined;
  return { ...object, [head]: setAt(inner, rest, leaf) };
}
