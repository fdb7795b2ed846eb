// Everything that multiplies is counted as it is created, because aliases can make a kilobyte stand for any number
// of nodes: each use of an alias is charged the size of its anchor.

import { below, type Reporter, type Spot } from "./diagnostics.ts";
import { kindOf, type MapNode, type Member, type Node, type Place } from "./node.ts";
import { readYamlNodes, type YamlNode, type YamlNodeDocument, type YamlScalarNode } from "#lib/yaml/index.ts";
import { asText, resolvePlain, resolveTagged } from "./scalar.ts";

const mostNodes = 100_000;
const maxDepth = 100;
const maxParts = 3 * mostNodes;

/** The root of a definition; undefined, after reporting, if the text cannot be read. Bounded by `mostNodes`. */
export function readNodes(text: string, reporter: Reporter): Node | undefined {
  const documents = parse(text, reporter);
  const document = documents && onlyDocument(documents, reporter);
  return document?.root && follow(document.root, reporter);
}

export const readDocuments = (text: string, reporter: Reporter): readonly Node[] =>
  (parse(text, reporter) ?? []).flatMap(({ root }) => (root && follow(root, reporter)) ?? []);

/** Excessive nesting and size are reported like too many aliases. */
function parse(text: string, reporter: Reporter): readonly YamlNodeDocument[] | undefined {
  const read = readYamlNodes(text, { maxDepth, maxParts });
  if (read.ok) return read.value;
  const { code, message, ...at } = read.error;
  reporter.error({ scope: "", at }, code === "yaml-syntax" ? "yaml-syntax" : "alias-bomb", message);
  return undefined;
}

function follow(root: YamlNode, reporter: Reporter): Node | undefined {
  const walk: Walk = { reporter, anchors: new Map(), nodesLeft: mostNodes, isBroken: false };
  const { node } = expand(walk, root, "", 1);
  return walk.isBroken ? undefined : node;
}

/** The only document with contents. Empty ones are ignored with a warning. */
function onlyDocument(documents: readonly YamlNodeDocument[], reporter: Reporter): YamlNodeDocument | undefined {
  const [first, second] = documents.filter(({ root }) => root !== undefined);
  if (first === undefined) {
    const hint = 'a stage with a step is enough: "test: {unit: {container: {image: alpine, cmds: [make test]}}}"';
    reporter.error({ scope: "" }, "doc-empty", "the file defines nothing", { hint });
    return undefined;
  }
  if (second !== undefined) {
    const message = `expected one document, found ${documents.length}`;
    const related = [{ message: "the first one begins here", place: first }];
    reporter.error({ scope: "", at: second }, "doc-count", message, { related });
    return undefined;
  }
  for (const extra of documents)
    if (extra !== first) reporter.warn({ scope: "", at: extra }, "doc-extra", "an empty document is ignored");
  return first;
}

interface Walk {
  readonly reporter: Reporter;
  readonly anchors: Map<string, Expanded | undefined>;
  nodesLeft: number;
  /** After this no further problem is worth reporting. */
  isBroken: boolean;
}

/** The size is charged for each alias. */
interface Expanded {
  readonly node: Node;
  readonly size: number;
  readonly height: number;
}

const nothing = (at: Place): Expanded => ({ node: { kind: "scalar", ...resolvePlain(""), at }, size: 1, height: 1 });

function expand(walk: Walk, node: YamlNode, scope: string, depth: number): Expanded {
  const at = { line: node.line, column: node.column };
  if (walk.isBroken) return nothing(at);
  if (node.kind === "alias") return followAlias(walk, node.target, { scope, at }, depth);
  if (!take(walk, 1, { scope, at })) return nothing(at);
  if (node.anchor !== undefined) walk.anchors.set(node.anchor, undefined);
  const expanded = expandOwn(walk, node, { scope, at }, depth);
  if (node.anchor !== undefined) walk.anchors.set(node.anchor, expanded);
  return expanded;
}

/** The value of a duplicate member is read too, to report its problems. */
function expandOwn(
  walk: Walk,
  node: Exclude<YamlNode, { readonly kind: "alias" }>,
  spot: Required<Pick<Spot, "scope" | "at">>,
  depth: number,
): Expanded {
  const { scope, at } = spot;
  if (node.kind === "scalar")
    return { node: { kind: "scalar", ...scalarOf(walk, node, spot), at }, size: 1, height: 1 };
  if (node.kind === "sequence") {
    const items = node.items.map((item, index) => expand(walk, item, `${scope}[${index}]`, depth + 1));
    return { node: { kind: "list", at, items: items.map((item) => item.node) }, ...extentOf(items) };
  }
  const own: (Member & Expanded)[] = [];
  const merged: Expanded[] = [];
  const firsts = new Map<string, Place>();
  for (const { key, value } of node.members) {
    const name = keyOf(walk, key, scope);
    if (name === undefined) continue;
    const place = { line: key.line, column: key.column };
    const inner = { scope: below(scope, name), at: place };
    const expanded = expand(walk, value, inner.scope, depth + 1);
    const first = firsts.get(name);
    if (first !== undefined) reportRepeated(walk, name, inner, first);
    else if (isMergeKey(key)) merged.push(expanded);
    else own.push({ name, at: place, value: expanded.node, ...expanded });
    if (first === undefined) firsts.set(name, place);
  }
  const extent = extentOf([...own, ...merged]);
  if (walk.isBroken) return { node: { kind: "map", at, members: own }, ...extent };
  const sources = merged.map(({ node: source }) => source);
  const members = mergeMembers(own, sources, scope, walk.reporter);
  if (merged.length > 0) take(walk, extent.size, spot);
  return { node: { kind: "map", at, members }, ...extent };
}

const extentOf = (parts: readonly Expanded[]): Pick<Expanded, "size" | "height"> => ({
  size: parts.reduce((sum, { size }) => sum + size, 1),
  height: parts.reduce((highest, { height }) => Math.max(highest, height), 0) + 1,
});

function take(walk: Walk, nodes: number, spot: Spot): boolean {
  walk.nodesLeft -= nodes;
  if (walk.nodesLeft < 0 && !walk.isBroken) {
    walk.isBroken = true;
    walk.reporter.error(spot, "alias-bomb", `the file has more than ${mostNodes} nodes with its aliases followed`);
  }
  return walk.nodesLeft >= 0;
}

function followAlias(walk: Walk, target: string, spot: Required<Pick<Spot, "scope" | "at">>, depth: number): Expanded {
  const fail = (code: string, message: string): Expanded => {
    walk.isBroken = true;
    walk.reporter.error(spot, code, message);
    return nothing(spot.at);
  };
  if (!walk.anchors.has(target)) return fail("yaml-syntax", `there is no anchor &${target} before the alias`);
  const found = walk.anchors.get(target);
  if (found === undefined) return fail("alias-cycle", `the alias *${target} stands inside its own anchor`);
  if (depth + found.height > maxDepth + 1) return fail("alias-bomb", `nested deeper than ${maxDepth} levels`);
  if (!take(walk, found.size, spot)) return nothing(spot.at);
  return { ...found, node: { ...found.node, at: spot.at } };
}

/** Quoted or tagged it is an ordinary key. */
const isMergeKey = (key: YamlNode): boolean =>
  key.kind === "scalar" && key.isPlain && key.tag === undefined && key.text === "<<";

function reportRepeated(walk: Walk, name: string, spot: Spot, first: Place): void {
  const message = `the key ${JSON.stringify(name)} is given more than once; this one is ignored`;
  walk.reporter.error(spot, "key-duplicate", message, { related: [{ message: "it was given here", place: first }] });
}

function keyOf(walk: Walk, key: YamlNode, scope: string): string | undefined {
  if (isMergeKey(key)) return "<<";
  const { node } = expand(walk, key, scope, 1);
  if (walk.isBroken) return undefined;
  const spot = { scope, at: node.at };
  if (node.kind === "scalar" && node.tag === "string") {
    if (node.text !== "") return node.text;
    walk.reporter.error(spot, "key-empty", "a key must not be empty");
    return undefined;
  }
  if (node.kind === "scalar" && node.text === "") walk.reporter.error(spot, "key-empty", "a key must not be empty");
  else {
    const hint = node.kind === "scalar" ? `put it in quotes: "${node.text}"` : undefined;
    walk.reporter.error(spot, "key-type", `expected a text as key, found ${kindOf(node)}`, { hint });
  }
  return undefined;
}

function scalarOf(walk: Walk, node: YamlScalarNode, spot: Spot) {
  if (node.tag === undefined) return node.isPlain ? resolvePlain(node.text) : asText(node.text);
  const resolved = resolveTagged(node.tag, node.text);
  if (resolved !== undefined) return resolved;
  const tag = node.tag.replace("tag:yaml.org,2002:", "!!");
  walk.reporter.error(spot, "type", `${JSON.stringify(node.text)} does not fit its tag ${tag}`);
  return asText(node.text);
}

// Unlike the original, which keeps both copies of an overridden member and runs such a step twice, YAML's rule
// applies: the map's own member wins.

/** Merged members come first. Own members win wherever the merge key is, and earlier maps win over later ones. */
function mergeMembers(
  own: readonly Member[],
  sources: readonly Node[],
  scope: string,
  reporter: Reporter,
): readonly Member[] {
  if (sources.length === 0) return own;
  const names = new Set(own.map(({ name }) => name));
  const merged: Member[] = [];
  for (const map of sources.flatMap((source) => mapsOf(source, scope, reporter))) {
    for (const member of map.members) {
      if (names.has(member.name)) continue;
      names.add(member.name);
      merged.push(member);
    }
  }
  return [...merged, ...own];
}

function mapsOf(source: Node, scope: string, reporter: Reporter): readonly MapNode[] {
  if (source.kind === "map") return [source];
  const wrong = (found: Node): readonly MapNode[] => {
    const message = `expected a map or a list of maps to merge, found ${kindOf(found)}`;
    reporter.error({ scope, at: found.at }, "type", message);
    return [];
  };
  if (source.kind !== "list") return wrong(source);
  return source.items.flatMap((item) => (item.kind === "map" ? [item] : wrong(item)));
}
