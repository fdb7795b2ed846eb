import { isAlias, isMap, isScalar, isSeq, type Document, type Node, type Pair } from "yaml";
import type { FieldPath, Position } from "#lib/base/index.ts";
import { startOf } from "./convert.ts";
import type { Place } from "./parse.ts";
import { keyText, resolvePlain } from "./scalar.ts";

// Places are looked up in the tree when somebody asks, which is when something is wrong. A table of all places would
// cost as much as reading the document, and nearly every document is right.

/** Finds places in one document. Costs the width of the mappings on the path; nothing is prepared. Never fails. */
export interface Locator {
  /** The value, or its key when the value starts on a later line, or the nearest parent that the text holds. */
  readonly valueAt: (path: FieldPath) => Position;
  /** The key of the last member of the path; for a list's item the item. */
  readonly keyAt: (path: FieldPath) => Position;
}

/** `placeOf` comes from the parse: repaired text has other offsets than the user's. `file` goes into positions. */
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

/**
 * The deepest part of the path that the text itself holds. Aliases are followed to their anchors; members that came by
 * a merge key are found at the mapping they were merged into. Of a repeated key the last one counts, as for its value.
 */
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

/** The node an alias stands for, or the node itself; undefined for what the parser could not make sense of. */
function follow(document: Document.Parsed, node: unknown): Node | undefined {
  if (isAlias(node)) return node.resolve(document);
  return isMap(node) || isSeq(node) || isScalar(node) ? node : undefined;
}

/** A key as the value's member is named: `yes:` is the member `true`. */
function textOfKey(document: Document.Parsed, pair: Pair): string | undefined {
  const key = follow(document, pair.key);
  if (!isScalar(key)) return undefined;
  const text = key.source ?? "";
  if (key.type !== "PLAIN" || key.tag !== undefined) return text;
  const resolved = resolvePlain(text);
  return resolved.ok && resolved.value !== null ? keyText(resolved.value) : undefined;
}
