import { type Document, isAlias, isMap, isScalar, isSeq, type Pair, Scalar } from "yaml";
import { err, ok, type Result } from "#lib/base/index.ts";
import { startOf } from "./convert.ts";
import { parseTrees, type Place, type TreeLimits } from "./parse.ts";
import { findControl, syntaxMessage } from "./read.ts";

// For languages whose words mean something else than Kubernetes' (`yes` is a text, `014` twelve) and which follow
// aliases and merge keys by rules of their own: the syntax alone, with the place of everything.

interface Placed {
  /** Counted from 1. */
  readonly line: number;
  readonly column: number;
}

interface Tagged extends Placed {
  /** As written out: `!!int` is `tag:yaml.org,2002:int`. Absent where none is written. */
  readonly tag?: string;
  /** The name that aliases refer to it by. */
  readonly anchor?: string;
}

/** A text, and whether it is written without quotes and marks, so that it may mean something else than a text. */
export interface YamlScalarNode extends Tagged {
  readonly kind: "scalar";
  readonly text: string;
  readonly isPlain: boolean;
}

export interface YamlSequenceNode extends Tagged {
  readonly kind: "sequence";
  readonly items: readonly YamlNode[];
}

/** Members in the order of the text, repeated ones too. */
export interface YamlMappingNode extends Tagged {
  readonly kind: "mapping";
  readonly members: readonly { readonly key: YamlNode; readonly value: YamlNode }[];
}

/** Stands for the node that had the anchor last, before it in the text. There need not be one. */
export interface YamlAliasNode extends Placed {
  readonly kind: "alias";
  readonly target: string;
}

export type YamlNode = YamlScalarNode | YamlSequenceNode | YamlMappingNode | YamlAliasNode;

/** Why a text has no nodes: the first thing that is wrong with it. */
export interface YamlFault extends Placed {
  readonly code: "yaml-syntax" | "yaml-depth" | "yaml-size";
  readonly message: string;
}

/** One document; `root` is absent where it is empty. The place is that of the root, or where the document begins. */
export interface YamlNodeDocument extends Placed {
  readonly root?: YamlNode;
}

/**
 * The documents of a text as nodes; none for an empty text or one of comments only. A value that is not written
 * (`key:`) is a plain scalar without text at the place of its key. Follows no alias and merges nothing, so that the
 * size of the answer is that of the text. Never throws.
 */
export function readYamlNodes(text: string, limits: TreeLimits): Result<readonly YamlNodeDocument[], YamlFault> {
  const control = findControl(text);
  if (control !== undefined) return err({ code: "yaml-syntax", ...control });
  const trees = parseTrees(text, limits);
  if (!trees.ok) {
    const { isDeep, ...fault } = trees.error;
    return err({ code: isDeep ? "yaml-depth" : "yaml-size", ...fault });
  }
  const { documents, placeOf } = trees.value;
  for (const { errors } of documents) {
    const [first] = errors.toSorted((a, b) => a.pos[0] - b.pos[0]);
    if (first !== undefined)
      return err({ code: "yaml-syntax", message: syntaxMessage(first), ...placeOf(first.pos[0]) });
  }
  return ok(documents.map((document) => toDocument(document, placeOf)));
}

type PlaceOf = (offset: number) => Place;

function toDocument({ contents, range }: Document.Parsed, placeOf: PlaceOf): YamlNodeDocument {
  if (contents === null || isEmpty(contents)) return placeOf(range[0]);
  const root = toNode(contents, placeOf, placeOf(range[0]));
  return { root, line: root.line, column: root.column };
}

/** What stands in no line of the text has the place it is given. */
function toNode(node: unknown, placeOf: PlaceOf, otherwise: Place): YamlNode {
  const at = startOf(node, -1);
  const place = at < 0 || isEmpty(node) ? otherwise : placeOf(at);
  if (isAlias(node)) return { kind: "alias", target: node.source, ...place };
  const tagged = { ...place, ...marksOf(node) };
  if (isSeq(node))
    return { kind: "sequence", items: node.items.map((item) => toNode(item, placeOf, place)), ...tagged };
  if (isMap(node))
    return { kind: "mapping", members: node.items.map((pair) => toMember(pair, placeOf, place)), ...tagged };
  if (!isScalar(node)) return { kind: "scalar", text: "", isPlain: true, ...place };
  return { kind: "scalar", text: node.source ?? "", isPlain: node.type === Scalar.PLAIN, ...tagged };
}

function toMember(pair: Pair, placeOf: PlaceOf, place: Place): YamlMappingNode["members"][number] {
  const key = toNode(pair.key, placeOf, place);
  return { key, value: toNode(pair.value, placeOf, { line: key.line, column: key.column }) };
}

function marksOf(node: unknown): Pick<Tagged, "tag" | "anchor"> {
  if (!isScalar(node) && !isMap(node) && !isSeq(node)) return {};
  return {
    ...(node.tag === undefined ? {} : { tag: node.tag }),
    ...(node.anchor === undefined ? {} : { anchor: node.anchor }),
  };
}

const isEmpty = (node: unknown): boolean =>
  isScalar(node) && node.type === Scalar.PLAIN && node.tag === undefined && node.range?.[0] === node.range?.[1];
