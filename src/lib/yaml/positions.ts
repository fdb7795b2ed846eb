import { isAlias, isMap, isScalar, isSeq, type Document, type Node, type Pair } from "yaml";
import type { FieldPath, Position } from "#lib/base/index.ts";
import { startOf } from "./convert.ts";
import type { Place } from "./parse.ts";
import { keyText, resolvePlain } from "./scalar.ts";

/** Finds places in one document. Costs the width of the mappings on the path; nothing is prepared. */
export interface Locator {
  readonly valueAt: (path: FieldPath) => Position;
  readonly keyAt: (path: FieldPath) => Position;
}

export function createLocator(
  document: Document.Parsed,
  placeOf: (offset: number) => Place,
  file: string | undefined,
): Locator {
  const position = (offset: number): Position => ({ ...(file === undefined ? {} : { file }), ...placeOf(offset) });
  return {
    keyAt: (path) => position(find(document, path).keyOffset),
    valueAt: (path) => {
      const { keyOffset, valueOffset } = find(document, path);
      const key = position(keyOffset);
      const value = position(valueOffset);
      // `spec:` with its members on the next lines is found at `spec`, a short value at the value.
      return value.line === key.line ? value : key;
    },
  };
}

interface Found {
  readonly keyOffset: number;
  readonly valueOffset: number;
}

/** The deepest part of the path that the text itself holds. */
function find(document: Document.Parsed, path: FieldPath): Found {
  let node: unknown = document.contents;
  const start = startOf(node, document.range[0]);
  let found: Found = { keyOffset: start, valueOffset: start };
  for (const part of path) {
    const target = follow(document, node);
    if (isSeq(target) && typeof part === "number") {
      node = target.items[part];
      const offset = startOf(node, -1);
      if (offset < 0) return found;
      found = { keyOffset: offset, valueOffset: offset };
    } else if (isMap(target)) {
      const pair = target.items.findLast((item) => textOfKey(document, item) === String(part));
      if (pair === undefined) return found;
      node = pair.value;
      const keyOffset = startOf(pair.key, found.keyOffset);
      found = { keyOffset, valueOffset: isEmpty(node) ? keyOffset : startOf(node, keyOffset) };
    } else {
      return found;
    }
  }
  return found;
}

/** The value of `key:` with nothing behind it. */
const isEmpty = (node: unknown): boolean => isScalar(node) && node.range?.[0] === node.range?.[1];

function follow(document: Document.Parsed, node: unknown): Node | undefined {
  if (isAlias(node)) return node.resolve(document);
  return isMap(node) || isSeq(node) || isScalar(node) ? node : undefined;
}

function textOfKey(document: Document.Parsed, pair: Pair): string | undefined {
  const key = follow(document, pair.key);
  if (!isScalar(key)) return undefined;
  const text = key.source ?? "";
  if (key.type !== "PLAIN" || key.tag !== undefined) return text;
  const resolved = resolvePlain(text);
  return resolved.ok && resolved.value !== null ? keyText(resolved.value) : undefined;
}
