// What a setting may be: how it is read from a file, where it has a type, and from a variable of the process, where it is a text.

import { isJsonObject, type JsonObject, type Millis, parseDuration } from "#lib/base/index.ts";
import type { Reporter } from "../definition/diagnostics.ts";
import { kindOf, type Node, type Place } from "../definition/node.ts";
import { valueOf } from "../definition/print.ts";
import { asText, resolvePlain } from "../definition/scalar.ts";
import { readBoolean, readText, readTextMap, readTexts, spotOf } from "../definition/values.ts";

/** One kind of values. */
export interface ValueKind<T> {
  /** Undefined, reported, when the node is none. */
  readonly read: (node: Node, scope: string, reporter: Reporter) => T | undefined;
  /** The text of a variable as a node; absent where a variable cannot say it. */
  readonly fromVariable?: (text: string, at: Place) => Node;
}

/** A word of a variable. What is substituted is taken as it can be read, and so is this. */
const plainWord = (text: string, at: Place): Node => ({ kind: "scalar", ...resolvePlain(text.trim()), at, madeOf: [] });
/** A text as it is, whatever it looks like. */
const wholeText = (text: string, at: Place): Node => ({ kind: "scalar", ...asText(text), at });

/** Literals that look like something else must be in quotes. */
export const text: ValueKind<string> = { read: readText, fromVariable: wholeText };

/** `true` or `false`; of a variable also `yes`, `no`, `on` and `off`. */
export const truth: ValueKind<boolean> = { read: readBoolean, fromVariable: plainWord };

/** A number without fraction, 0 or more. */
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

/** `1m30s`; milliseconds. */
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

/** One of a few words. */
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

/** In a variable they are separated by commas. */
export const texts: ValueKind<readonly string[]> = {
  read: readTexts,
  fromVariable: (words, at) => ({
    kind: "list",
    at,
    items: words.split(",").map((word) => wholeText(word.trim(), at)),
  }),
};

/** Texts by names that users choose. */
export const textMap: ValueKind<ReadonlyMap<string, string>> = { read: readTextMap };

/** What is Kubernetes' to judge: objects in its own words. */
export const objects: ValueKind<readonly JsonObject[]> = {
  read(node, scope, { error }) {
    const value = node.kind === "list" ? valueOf(node) : undefined;
    if (Array.isArray(value) && value.every(isJsonObject)) return value;
    error(spotOf(scope, node), "type", `expected list, found ${kindOf(node)}`);
    return undefined;
  },
};
