import {
  err,
  type FieldPath,
  formatFieldPath,
  hasErrors,
  type JsonValue,
  ok,
  type Position,
  type Problem,
  type Result,
} from "#lib/base/index.ts";
import type { Document, YAMLError } from "yaml";
import { convertTree, type Finding } from "./convert.ts";
import { type ParsedYaml, parseTrees, type Place } from "./parse.ts";
import { readPlain } from "./plain.ts";
import { createLocator } from "./positions.ts";

export interface YamlReadOptions {
  /** Named in positions and messages. */
  readonly file?: string;
  /** `error` unless told. With `warning` the last value of a repeated key wins, as in Kubernetes' lenient modes. */
  readonly duplicateKeys?: "error" | "warning";
  /** Deepest nesting of mappings and lists; 200 unless told. */
  readonly maxDepth?: number;
  /** Most scalars, aliases, flow collections, comments and lines together, some kB each; unlimited unless set. */
  readonly maxParts?: number;
}

/** One document of a file. An empty one (`---` alone) is null. Keeps the syntax tree alive for its places. */
export interface YamlDocument {
  /** Not frozen, but aliases of one anchor share one value: treat it as immutable. */
  readonly value: JsonValue;
  /** The place of the value at a path, or of its key if on another line; else of its nearest existing parent. */
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
 * Reads YAML as Kubernetes does (YAML 1.1 words and octal numbers, keys as texts, merge keys, limited aliases) and
 * JSON, which is a part of it. A text without any document reads as no documents. Returns every problem at once, in the
 * order of the text, with positions. Never throws; cost is linear in the text, about 1 second for a megabyte, and a
 * quarter of that for one without mistakes, anchors and tags.
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

/** Further problems are one problem that counts them; in a broken file all follow from the first. */
const mostProblems = 100;

/** As `readYaml`, by `yaml`, whatever the text is made of. Keeps the syntax trees alive for places. */
export function readTrees(text: string, options: YamlReadOptions = {}): Result<YamlFile, readonly Problem[]> {
  const { maxDepth = 200, maxParts = Number.POSITIVE_INFINITY } = options;
  const trees = parseTrees(text, { maxDepth, maxParts });
  if (!trees.ok) {
    const { isDeep, message, ...place } = trees.error;
    const finding = { severity: "error", code: isDeep ? "yaml-depth" : "yaml-size", message, path: [] } as const;
    return err([toProblem(finding, place, options.file)]);
  }
  const found: Found = { problems: [], counts: { error: 0, warning: 0 } };
  noteControl(text, options.file, found);
  const documents = trees.value.documents.map((tree) => readDocument(tree, trees.value, options, found));
  const problems = limitProblems(found);
  return hasErrors(problems) ? err(problems) : ok({ documents, warnings: problems });
}

/** Problems so far. All are counted, but only those to be shown are kept: keys and paths may be long. */
interface Found {
  readonly problems: Problem[];
  readonly counts: Record<Problem["severity"], number>;
}

function note(found: Found, severity: Problem["severity"], describe: () => Problem): void {
  found.counts[severity] += 1;
  if (found.counts[severity] <= mostProblems) found.problems.push(describe());
}

// YAML 1.2, 5.1: of the control characters only tabs and line breaks may stand in a text. The library lets all of them
// pass.
const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f]/;

/** The first one is enough: a text that has any is most often not YAML at all. */
function noteControl(text: string, file: string | undefined, found: Found): void {
  const first = findControl(text);
  if (first === undefined) return;
  const { message, ...place } = first;
  note(found, "error", () => toProblem({ severity: "error", code: "yaml-syntax", message, path: [] }, place, file));
}

/** The first control character that no YAML may have, with what to say about it. */
export function findControl(text: string): (Place & { readonly message: string }) | undefined {
  const at = text.search(control);
  if (at === -1) return undefined;
  const before = text.slice(0, at);
  const message = `the control character ${JSON.stringify(text[at])} is not allowed; write it as an escape in double quotes`;
  return { message, line: before.split("\n").length, column: before.length - before.lastIndexOf("\n") };
}

function readDocument(
  tree: Document.Parsed,
  { placeOf }: ParsedYaml,
  options: YamlReadOptions,
  found: Found,
): YamlDocument {
  const locator = createLocator(tree, placeOf, options.file);
  const report = (finding: Finding): void => {
    const lenient = finding.code === "yaml-duplicate-key" && options.duplicateKeys === "warning";
    const severity = lenient ? "warning" : finding.severity;
    note(found, severity, () => toProblem({ ...finding, severity }, placeOf(finding.offset), options.file));
  };
  let lastLine = 0;
  for (const error of tree.errors) {
    const place = placeOf(error.pos[0]);
    // Errors on one line follow from the first of them.
    if (place.line !== lastLine) note(found, "error", () => toProblem(syntaxFinding(error), place, options.file));
    lastLine = place.line;
  }
  // A tree with syntax errors is not what its author meant; complaints about its contents would mislead.
  const value = tree.errors.length > 0 ? null : convertTree(tree.contents, report);
  return { value, positionOf: locator.valueAt, keyPositionOf: locator.keyAt };
}

function syntaxFinding(error: YAMLError): Omit<Finding, "offset"> {
  return { severity: "error", code: "yaml-syntax", message: syntaxMessage(error), path: [] };
}

/** The library's message, which starts with a capital letter, in the style of ours. */
export const syntaxMessage = ({ message }: YAMLError): string => message.charAt(0).toLowerCase() + message.slice(1);

function toProblem(finding: Omit<Finding, "offset">, place: Omit<Position, "file">, file: string | undefined): Problem {
  const { severity, code, message, path } = finding;
  const position = file === undefined ? place : { file, ...place };
  return { severity, code, message, path: formatFieldPath(path), position };
}

/** Errors before warnings when not all can be shown: they are what must be changed first. */
function limitProblems({ problems, counts }: Found): readonly Problem[] {
  const total = counts.error + counts.warning;
  if (total <= mostProblems) return problems;
  const severity = counts.error > 0 ? "error" : "warning";
  const shown = problems.filter((problem) => problem.severity === severity);
  const message = `${total - shown.length} more problems are not shown`;
  return [...shown, { severity, code: "yaml-more-problems", message, path: "" }];
}
