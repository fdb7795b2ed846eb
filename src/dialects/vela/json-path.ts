import { isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";

// Paths of documents: `a.b[0].c["x-y"]`. Unquoted names may contain `-` and `/`.

export type Segment = string | number;

/** Lists are not padded beyond this. */
const maxIndex = 10_000;

/** Undefined if malformed. */
export function parsePath(text: string): readonly Segment[] | undefined {
  const segments: Segment[] = [];
  const part = /\.?(?:([^.[\]"\s]+)|"((?:[^"\\]|\\.)*)")|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/gy;
  let end = 0;
  for (let match = part.exec(text); match !== null; match = part.exec(text)) {
    const [, plain, quoted, index, key] = match;
    if (Number(index ?? 0) > maxIndex) return undefined;
    const name = plain ?? (quoted ?? key ?? "").replace(/\\(.)/g, "$1");
    segments.push(index === undefined ? name : Number(index));
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

/** The variable of this name, or what a variable has at the rest of the path: `db.host`. */
export function variableIn(
  get: (name: string) => JsonValue | undefined,
  from: string,
): { readonly name: string; readonly value: JsonValue } | undefined {
  const whole = get(from);
  if (whole !== undefined) return { name: from, value: whole };
  const path = parsePath(from) ?? [];
  for (let length = path.length - 1; length > 0; length--) {
    const name = path.slice(0, length).join(".");
    const value = getAt(get(name), path.slice(length));
    if (value !== undefined) return { name, value };
  }
  return undefined;
}

/** A copy with this value; missing objects are created, and lists are padded with `{}`. */
export function setAt(value: JsonValue | undefined, path: readonly Segment[], leaf: JsonValue): JsonValue {
  const [head, ...rest] = path;
  if (head === undefined) return leaf;
  if (typeof head === "number") {
    const list = Array.isArray(value) ? [...value] : [];
    while (list.length < head) list.push({});
    list[head] = setAt(list[head], rest, leaf);
    return list;
  }
  const object: JsonObject = isJsonObject(value) ? value : {};
  const inner = Object.hasOwn(object, head) ? object[head] : undefined;
  return { ...object, [head]: setAt(inner, rest, leaf) };
}
