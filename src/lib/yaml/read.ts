import { type FieldPath, type JsonValue, ok, type Position, type Problem, type Result } from "#lib/base/index.ts";
import { readPlain } from "./plain.ts";
import { readTrees } from "./trees.ts";

export interface YamlReadOptions {
  /** Named in positions and messages. */
  readonly file?: string;
  /** `error` unless told. With `warning` the last value of a repeated key wins, as in Kubernetes' lenient modes. */
  readonly duplicateKeys?: "error" | "warning";
  /** Deepest nesting of mappings and lists; 200 unless told. */
  readonly maxDepth?: number;
  /** Most scalars, aliases, collections in brackets, comments and lines together, some kilobyte each while they are read; any number unless told. */
  readonly maxParts?: number;
}

/** One document of a file. An empty document (`---` alone) has the value null. Keeps the syntax tree alive for its places. */
export interface YamlDocument {
  /** Not frozen, but aliases of one anchor share one value: treat it as immutable. */
  readonly value: JsonValue;
  /**
   * Where the value at a path is: the value itself if it starts on the line of its key, else its key. A path that does not
   * exist is at its nearest existing parent.
   */
  readonly positionOf: (path: FieldPath) => Position;
  /** Where the key of the member at a path is, for complaints about the key; for list items the item. */
  readonly keyPositionOf: (path: FieldPath) => Position;
}

export interface YamlFile {
  /** In the order of the text; none for an empty text or one of comments only. */
  readonly documents: readonly YamlDocument[];
  /** What is worth knowing but stops nobody: ignored tags, and repeated keys when they are warnings. */
  readonly warnings: readonly Problem[];
}

/**
 * Reads YAML as Kubernetes does (YAML 1.1 words and octal numbers, keys as texts, merge keys, limited aliases) and JSON,
 * which is a part of it. A text without any document reads as no documents. Returns every problem at once, in the order of
 * the text, with positions. Never throws; cost is linear in the text, about 1 second for a megabyte, and a quarter of that for one
 * without mistakes, anchors and tags.
 */
export function readYaml(text: string, options: YamlReadOptions = {}): Result<YamlFile, readonly Problem[]> {
  const { maxDepth = 200, maxParts = Number.POSITIVE_INFINITY } = options;
  const values = readPlain(text, { maxDepth, maxParts });
  if (values === undefined) return readTrees(text, options);
  // Places are asked for when something is wrong, which it seldom is.
  let trees: YamlFile | undefined;
  const placed = (index: number): YamlDocument => {
    if (trees === undefined) {
      const read = readTrees(text, options);
      trees = read.ok ? read.value : { documents: [], warnings: [] };
    }
    const document = trees.documents[index];
    if (document === undefined) throw new Error("a text without mistakes has other documents when it is read again");
    return document;
  };
  const documents = values.map((value, index) => ({
    value,
    positionOf: (path: FieldPath) => placed(index).positionOf(path),
    keyPositionOf: (path: FieldPath) => placed(index).keyPositionOf(path),
  }));
  return ok({ documents, warnings: [] });
}
