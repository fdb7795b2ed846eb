import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { type FieldPath, isJsonObject, type JsonObject, type JsonValue } from "#lib/base/index.ts";
import { keyText, type Resolved, resolvePlain } from "./scalar.ts";

// One walk over a tree. Errors do not end it: a wrong node becomes null, or its key is left out, and the walk goes on,
// so that all errors of a document are found at once. The value is thrown away when there was any.

/** Takes one finding about the node that starts at an offset. */
export type Report = (finding: Finding) => void;

/** A Problem before its place is known: offsets become lines and columns only for what is shown. */
export interface Finding {
  readonly severity: "error" | "warning";
  readonly code: string;
  readonly message: string;
  readonly path: FieldPath;
  readonly offset: number;
}

/** Nodes that aliases and merge keys may add to one document, or ten times its own nodes if that is more. */
export const mostAliasNodes = 10_000;

/**
 * Turns a syntax tree into a value and reports everything wrong with it. Aliases of one anchor share one value. Cost is
 * linear in the nodes of the tree plus the nodes that merge keys copy, which are limited like those of aliases.
 */
export function convertTree(root: Node | null, report: Report): JsonValue {
  const state: State = {
    report,
    anchors: new Map(),
    aliasNodesLeft: Math.max(mostAliasNodes, 10 * countNodes(root)),
  };
  return convert(state, root, [], 0).value;
}

/** A value and its number of nodes if nothing were shared, which is what writing it as JSON would cost. */
interface Converted {
  readonly value: JsonValue;
  readonly nodes: number;
}

interface State {
  readonly report: Report;
  /** Latest value of each anchor; undefined while it is converted. Anchors may be set again (YAML 1.2, 7.1). */
  readonly anchors: Map<string, Converted | undefined>;
  /** Negative once the limit was reported; from then on aliases are null and nothing is merged. */
  aliasNodesLeft: number;
}

const nothing: Converted = { value: null, nodes: 1 };
/** Stands for an alias that could not be followed, which has been reported. */
const failed: Converted = { value: null, nodes: 1 };

/** `offset` is the place of the parent, for nodes that are not in the text themselves. */
function convert(state: State, node: unknown, path: FieldPath, offset: number): Converted {
  if (isAlias(node)) return followAlias(state, node, path);
  if (!isMap(node) && !isSeq(node) && !isScalar(node)) return nothing;
  const { anchor } = node;
  if (anchor !== undefined) state.anchors.set(anchor, undefined);
  const at = startOf(node, offset);
  const converted = isMap(node)
    ? convertMap(state, node, path, at)
    : isSeq(node)
      ? convertSeq(state, node, path, at)
      : { value: convertScalar(state, node, path, at), nodes: 1 };
  if (anchor !== undefined) state.anchors.set(anchor, converted);
  return converted;
}

/** Takes the anchor's value as it is: shared, not copied. Its size is counted each time. */
function followAlias(state: State, alias: Alias, path: FieldPath): Converted {
  const offset = startOf(alias, 0);
  const fail = (code: string, message: string): Converted => {
    state.report({ severity: "error", code, message, path, offset });
    return failed;
  };
  if (!state.anchors.has(alias.source))
    return fail("yaml-alias", `there is no anchor &${alias.source} before the alias`);
  const target = state.anchors.get(alias.source);
  if (target === undefined) return fail("yaml-alias", `the alias *${alias.source} is inside its own anchor`);
  return charge(state, target.nodes, () => fail("yaml-alias-limit", "aliases expand to too many nodes"))
    ? target
    : failed;
}

/** Whether as many nodes may still be added. Calls `exceeded` the first time they may not. */
function charge(state: State, nodes: number, exceeded: () => void): boolean {
  if (state.aliasNodesLeft < 0) return false;
  state.aliasNodesLeft -= nodes;
  if (state.aliasNodesLeft < 0) exceeded();
  return state.aliasNodesLeft >= 0;
}

function convertSeq(state: State, seq: YAMLSeq, path: FieldPath, offset: number): Converted {
  let nodes = 1;
  const value = seq.items.map((item, index) => {
    const converted = convert(state, item, [...path, index], offset);
    nodes += converted.nodes;
    return converted.value;
  });
  return { value, nodes };
}

/** Keys become texts; merge keys are merged last, because the mapping's own members win. */
function convertMap(state: State, map: YAMLMap, path: FieldPath, offset: number): Converted {
  const members = new Map<string, JsonValue>();
  const merged: (readonly [source: JsonObject, offset: number])[] = [];
  let nodes = 1;
  for (const pair of map.items) {
    if (isMergeKey(pair.key)) {
      const source = convert(state, pair.value, path, offset);
      const at = startOf(pair.key, offset);
      nodes += source.nodes;
      if (source !== failed) for (const each of mergeSources(state, source.value, path, at)) merged.push([each, at]);
      continue;
    }
    const key = convertKey(state, pair, path, offset);
    const converted = convert(state, pair.value, key === undefined ? path : [...path, key], startOf(pair.key, offset));
    nodes += converted.nodes;
    if (key === undefined) continue;
    if (members.has(key)) reportDuplicate(state, key, [...path, key], startOf(pair.key, offset));
    members.set(key, converted.value);
  }
  for (const [source, at] of merged) mergeInto(state, members, source, { path, offset: at });
  // fromEntries defines own members, so that "__proto__" is an ordinary key.
  return { value: Object.fromEntries(members), nodes };
}

function reportDuplicate(state: State, key: string, path: FieldPath, offset: number): void {
  const message = `the key ${JSON.stringify(key)} is given more than once`;
  state.report({ severity: "error", code: "yaml-duplicate-key", message, path, offset });
}

/** `<<` without quotes and tag. In quotes it is an ordinary key. */
const isMergeKey = (key: unknown): key is Scalar =>
  isScalar(key) && key.source === "<<" && key.type === Scalar.PLAIN && key.tag === undefined;

/** The mappings behind a merge key, the first winning; none, with a report, if it is anything else. */
function mergeSources(state: State, value: JsonValue, path: FieldPath, offset: number): readonly JsonObject[] {
  const sources: readonly JsonValue[] = isArray(value) ? value : [value];
  if (sources.every(isJsonObject)) return sources;
  const message = `a merge key "<<" takes a mapping or a list of mappings`;
  state.report({ severity: "error", code: "yaml-merge", message, path, offset });
  return [];
}

/** Members of the mapping itself win over merged ones, and earlier sources over later ones. */
function mergeInto(
  state: State,
  members: Map<string, JsonValue>,
  source: JsonObject,
  at: Pick<Finding, "path" | "offset">,
): void {
  const entries = Object.entries(source);
  const message = "merge keys copy too many members";
  const exceeded = () => state.report({ severity: "error", code: "yaml-alias-limit", message, ...at });
  if (!charge(state, entries.length, exceeded)) return;
  for (const [key, value] of entries) {
    if (value !== undefined && !members.has(key)) members.set(key, value);
  }
}

/** The text of a key, or undefined, with a report, for keys that JSON cannot have: null, lists and mappings. */
function convertKey(state: State, pair: Pair, path: FieldPath, offset: number): string | undefined {
  const at = startOf(pair.key, offset);
  const key = convert(state, pair.key, path, at);
  if (key === failed) return undefined;
  const { value } = key;
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") return keyText(value);
  const found = value === null ? "null" : isArray(value) ? "a list" : "a mapping";
  state.report({
    severity: "error",
    code: "yaml-key",
    message: `a key must be a text, found ${found}`,
    path,
    offset: at,
  });
  return undefined;
}

// What "!!" stands for in a tag, as in "!!int".
const coreTag = "tag:yaml.org,2002:";

/** Tags win over style, style over looks: `!!int "12"` is 12, `"12"` a text. Warns of unknown tags, giving the text. */
function convertScalar(state: State, scalar: Scalar, path: FieldPath, offset: number): JsonValue {
  const text = scalar.source ?? "";
  const report = (severity: Finding["severity"], code: string, message: string): null => {
    state.report({ severity, code, message, path, offset });
    return null;
  };
  const tag = scalar.tag;
  if (tag === undefined && scalar.type !== Scalar.PLAIN) return text;
  if (tag === undefined) {
    const resolved = resolvePlain(text);
    return resolved.ok ? resolved.value : report("error", "yaml-number", resolved.error);
  }
  if (tag === "!" || tag === `${coreTag}str` || tag === `${coreTag}timestamp`) return text;
  if (tag === `${coreTag}binary`) return decodeBinary(text) ?? report("error", "yaml-tag", "!!binary is not base64");
  const wanted = typeOfTag.get(tag);
  if (wanted === undefined) {
    report("warning", "yaml-tag", `the tag ${tag} is ignored`);
    return text;
  }
  const resolved = resolvePlain(text);
  if (!resolved.ok) return report("error", "yaml-number", resolved.error);
  return wanted(resolved.value)
    ? resolved.value
    : report("error", "yaml-tag", `${JSON.stringify(text)} does not fit its tag ${tag}`);
}

/** Which resolved values fit a tag; an integer is a float too. */
const typeOfTag: ReadonlyMap<string, (value: Resolved) => boolean> = new Map([
  [`${coreTag}null`, (value: Resolved) => value === null],
  [`${coreTag}bool`, (value: Resolved) => typeof value === "boolean"],
  [`${coreTag}int`, (value: Resolved) => Number.isInteger(value)],
  [`${coreTag}float`, (value: Resolved) => typeof value === "number"],
]);

/** The bytes of a `!!binary` scalar read as UTF-8, or undefined when it is not base64. */
function decodeBinary(text: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(text.replace(/\s/g, "")), (char) => char.charCodeAt(0));
    return new TextDecoder().decode(bytes);
  } catch {
    // atob throws for anything that is not base64; the caller reports the place.
    return undefined;
  }
}

/** Where a node starts, or the given offset for a node that is not in the text (the value of `key:`). */
export function startOf(node: unknown, otherwise: number): number {
  if (isScalar(node) || isMap(node) || isSeq(node) || isAlias(node)) return node.range?.[0] ?? otherwise;
  return otherwise;
}

/** Nodes of the tree as written, keys included; the depth was bounded before the tree was built. */
function countNodes(node: unknown): number {
  if (isSeq(node)) return node.items.reduce<number>((sum, item) => sum + countNodes(item), 1);
  if (isMap(node)) return node.items.reduce((sum, { key, value }) => sum + countNodes(key) + countNodes(value), 1);
  return 1;
}

const isArray = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);
