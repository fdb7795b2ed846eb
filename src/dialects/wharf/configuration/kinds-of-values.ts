import { isJsonObject, type JsonObject, type Millis, parseDuration } from "#lib/base/index.ts";
import type { Reporter } from "../definition/diagnostics.ts";
import { kindOf, type Node, type Place } from "../definition/node.ts";
import { valueOf } from "../definition/print.ts";
import { asText, resolvePlain } from "../definition/scalar.ts";
import { readBoolean, readText, readTextMap, readTexts, spotOf } from "../definition/values.ts";

export interface ValueKind<T> {
  /** Undefined, after reporting, if the node does not fit. */
  readonly read: (node: Node, scope: string, reporter: Reporter) => T | undefined;
  /** The text of a variable as a node; absent if a variable cannot express it. */
  readonly fromVariable?: (text: string, at: Place) => Node;
}

const plainWord = (text: string, at: Place): Node => ({ kind: "scalar", ...resolvePlain(text.trim()), at, madeOf: [] });
const wholeText = (text: string, at: Place): Node => ({ kind: "scalar", ...asText(text), at });

export const text: ValueKind<string> = { read: readText, fromVariable: wholeText };

export const truth: ValueKind<boolean> = { read: readBoolean, fromVariable: plainWord };

export const count: ValueKind<number> = {
  read(node, scope, { error }) {
    if (node.kind === "scalar" && node.tag === "integer" && typeof node.value === "number" && node.value >= 0)
      return node.value;
    const found = node.kind === "scalar" && node.tag === "integer" ? node.text : kindOf(node);
    error(spotOf(scope, node), "type", `expected integer of 0 or more, found ${found}`);
    return undefined;
  },
  fromVariable: plainWord,
};

export const duration: ValueKind<Millis> = {
  read(node, scope, reporter) {
    const written = readText(node, scope, reporter);
    if (written === undefined) return undefined;
    const read = parseDuration(written);
    if (read.ok && read.value >= 0) return read.value;
    const message = read.ok ? `expected a duration of 0 or more, found ${written}` : read.error;
    reporter.error(spotOf(scope, node), "type", message);
    return undefined;
  },
  fromVariable: wholeText,
};

export const oneOf = <const T extends string>(...words: readonly T[]): ValueKind<T> => ({
  read(node, scope, reporter) {
    const written = readText(node, scope, reporter);
    const found = words.find((word) => word === written);
    if (written !== undefined && found === undefined) {
      const message = `expected one of ${words.join(", ")}, found ${JSON.stringify(written)}`;
      reporter.error(spotOf(scope, node), "type", message);
    }
    return found;
  },
  fromVariable: wholeText,
});

export const texts: ValueKind<readonly string[]> = {
  read: readTexts,
  fromVariable: (words, at) => ({
    kind: "list",
    at,
    items: words.split(",").map((word) => wholeText(word.trim(), at)),
  }),
};

export const textMap: ValueKind<ReadonlyMap<string, string>> = { read: readTextMap };

export const objects: ValueKind<readonly JsonObject[]> = {
  read(node, scope, { error }) {
    const value = node.kind === "list" ? valueOf(node) : undefined;
    if (Array.isArray(value) && value.every(isJsonObject)) return value;
    error(spotOf(scope, node), "type", `expected list, found ${kindOf(node)}`);
    return undefined;
  },
};
