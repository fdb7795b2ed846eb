import { readFile, readdir, stat } from "node:fs/promises";
import type { Dialect } from "#dialects/index.ts";
import { hasErrors, messageOf, type Problem } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import type { YamlDocument } from "#lib/yaml/index.ts";
import { UsageError } from "./exit-codes.ts";

/** One document of the files on the command line. `dialect` is absent for plain Kubernetes objects. */
export interface Document {
  readonly file: string;
  readonly source: YamlDocument;
  readonly dialect: Dialect | undefined;
  /** Absent when the problems hold an error. */
  readonly object: KubeObject | undefined;
}

/** All documents of a command line, in order; those with errors too, so that they can be counted. */
export interface ReadDocuments {
  readonly documents: readonly Document[];
  readonly problems: readonly Problem[];
}

/** How documents are read. `directory` is what relative paths are relative to. */
export interface ReadRequest {
  readonly directory: string;
  /** `--param name=text` of the command line. */
  readonly arguments?: Readonly<Record<string, string>>;
  /** Also what is allowed but unwise. */
  readonly lint?: boolean;
  readonly stdin?: () => Promise<string>;
}

/** Reads files, folders (their .yaml, .yml and .json files) and `-`; every problem of every file at once. */
export async function readDocuments(paths: readonly string[], request: ReadRequest): Promise<ReadDocuments> {
  const { loadDialects } = await import("#dialects/index.ts");
  const { readYaml } = await import("#lib/yaml/index.ts");
  const dialects = await loadDialects();
  const documents: Document[] = [];
  const problems: Problem[] = [];
  for (const { file, text } of await readTexts(paths, request)) {
    const read = readYaml(text, { file });
    problems.push(...(read.ok ? read.value.warnings : read.error));
    if (!read.ok) continue;
    if (read.value.documents.every(({ value }) => value === null)) problems.push(emptyFile(file));
    for (const source of read.value.documents.filter(({ value }) => value !== null)) {
      const { document, found } = readOne(file, source, dialects, request);
      documents.push(document);
      problems.push(...found);
    }
  }
  return { documents, problems };
}

const emptyFile = (file: string): Problem => ({
  severity: "error",
  code: "unknown-document",
  path: "",
  message: "the file holds no document",
  position: { file, line: 1, column: 1 },
});

function readOne(file: string, source: YamlDocument, dialects: readonly Dialect[], request: ReadRequest) {
  const dialect = dialects.find((candidate) => candidate.documents.detect(source));
  if (dialect === undefined) return readPlain(file, source);
  const given = request.arguments === undefined ? {} : { arguments: request.arguments };
  const { object, problems } = dialect.documents.read(source, given);
  const found = request.lint === true ? dialect.documents.lint(source) : problems;
  return { document: { file, source, dialect, object } satisfies Document, found };
}

/** A Kubernetes object of a kind that no dialect claims: the server will judge it. */
function readPlain(file: string, source: YamlDocument): { document: Document; found: readonly Problem[] } {
  const value = source.value;
  const isObject =
    typeof value === "object" &&
    value !== null &&
    "apiVersion" in value &&
    "kind" in value &&
    typeof value["kind"] === "string";
  const problem: Problem = {
    severity: "error",
    code: "unknown-document",
    path: "",
    message: "this is no document of a known dialect and no Kubernetes object: expected apiVersion and kind",
    position: source.positionOf([]),
  };
  // apiVersion and kind were looked at; the rest is the server's to check.
  const object = isObject ? (value as unknown as KubeObject) : undefined;
  return { document: { file, source, dialect: undefined, object }, found: isObject ? [] : [problem] };
}

async function readTexts(paths: readonly string[], { directory, stdin }: ReadRequest) {
  const texts: { readonly file: string; readonly text: string }[] = [];
  for (const path of paths) {
    if (path === "-") texts.push({ file: "-", text: (await stdin?.()) ?? "" });
    else for (const file of await filesOf(path, directory)) texts.push({ file, text: await readText(file, directory) });
  }
  return texts;
}

const absolute = (path: string, directory: string) => (path.startsWith("/") ? path : `${directory}/${path}`);

async function filesOf(path: string, directory: string): Promise<readonly string[]> {
  const found = await stat(absolute(path, directory)).catch((error: unknown) => {
    throw new UsageError(`cannot read ${path}: ${messageOf(error)}`);
  });
  if (!found.isDirectory()) return [path];
  const names = (await readdir(absolute(path, directory))).filter((name) => /\.(?:ya?ml|json)$/.test(name)).sort();
  if (names.length === 0) throw new UsageError(`${path} holds no .yaml, .yml or .json file`);
  return names.map((name) => `${path.replace(/\/$/, "")}/${name}`);
}

async function readText(file: string, directory: string): Promise<string> {
  return await readFile(absolute(file, directory), "utf8").catch((error: unknown) => {
    throw new UsageError(`cannot read ${file}: ${messageOf(error)}`);
  });
}

/** `name=text` pairs of repeated `--param`. */
export function parseParams(pairs: readonly string[]): Readonly<Record<string, string>> {
  const entries = pairs.map((pair): [string, string] => {
    const equals = pair.indexOf("=");
    if (equals < 1) throw new UsageError(`expected --param name=value, found ${JSON.stringify(pair)}`);
    return [pair.slice(0, equals), pair.slice(equals + 1)];
  });
  return Object.fromEntries(entries);
}

/** The documents' objects, or the usage error that the problems were printed for. */
export const objectsOf = ({
  documents,
  problems,
}: ReadDocuments): readonly { document: Document; object: KubeObject }[] =>
  hasErrors(problems)
    ? []
    : documents.flatMap((document) => (document.object === undefined ? [] : [{ document, object: document.object }]));
