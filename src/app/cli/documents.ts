import { type Dialect, type DocumentReader, type SourceDocument, unknownKind } from "#kernel/dialect/index.ts";
import { hasErrors, type Problem } from "#lib/base/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { foreignKinds } from "./foreign-kinds.ts";
import type { SourcePlace } from "#kernel/command/index.node.ts";

/** One document of the files on the command line. `dialect` is absent for what is no single language's: plain Kubernetes objects, actions. */
export interface Document {
  readonly file: string;
  readonly source: SourceDocument;
  readonly dialect: Dialect | undefined;
  /** Who understands it; absent for plain Kubernetes objects. */
  readonly reader: DocumentReader | undefined;
  /** Absent when the problems hold an error. */
  readonly object: KubeObject | undefined;
}

/** All documents of a command line, in order; those with errors too, so that they can be counted. */
export interface ReadDocuments {
  readonly documents: readonly Document[];
  readonly problems: readonly Problem[];
}

/** How documents are read. */
export interface ReadRequest extends SourcePlace {
  /** `--param name=text` of the command line. */
  readonly arguments?: Readonly<Record<string, string>>;
  /** Also what is allowed but unwise. */
  readonly lint?: boolean;
}

/**
 * Reads files, folders and `-` to documents; every problem of every file at once, in the order of the command line. Nothing
 * is thrown for what a document holds; for the words of the command line see `readSources`.
 */
export async function readDocuments(paths: readonly string[], request: ReadRequest): Promise<ReadDocuments> {
  const [{ loadDialects }, { sharedOf }] = await Promise.all([
    import("#dialects/index.ts"),
    import("#kernel/dialect/index.ts"),
  ]);
  const { readYaml } = await import("#lib/yaml/index.ts");
  const { readSources } = await import("#kernel/command/index.node.ts");
  const dialects = await loadDialects();
  const { documents: shared } = sharedOf(dialects);
  const pieces: (Piece | Problem)[] = [];
  for (const source of await readSources(paths, request)) {
    if ("problem" in source) {
      pieces.push(source.problem);
      continue;
    }
    const { file, text } = source;
    const whole = wholeFile(dialects, text, file);
    if (whole !== undefined) {
      pieces.push(whole);
      continue;
    }
    const read = readYaml(text, { file });
    pieces.push(...(read.ok ? read.value.warnings : read.error));
    if (!read.ok) continue;
    if (read.value.documents.every(({ value }) => value === null)) pieces.push(emptyFile(file));
    for (const one of read.value.documents.filter(({ value }) => value !== null))
      pieces.push(pieceOf(file, one, dialects, shared));
  }
  return readPieces(pieces, request);
}

/** A document that has not been read, and who is to read it. */
type Piece = Omit<Document, "object">;

/**
 * A document of a file, with who understands it. What is shared comes first: its group is that of a language, whose reader would call it
 * unknown.
 */
function pieceOf(file: string, source: SourceDocument, dialects: readonly Dialect[], shared: DocumentReader): Piece {
  if (shared.detect(source)) return { file, source, dialect: undefined, reader: shared };
  const dialect = dialects.find(({ documents }) => documents.detect(source));
  return { file, source, dialect, reader: dialect?.documents };
}

/** The document of a file that is one of its own kind, and no YAML with objects. */
function wholeFile(dialects: readonly Dialect[], text: string, file: string): Piece | undefined {
  for (const dialect of dialects) {
    const source = dialect.documents.fromText?.(text, file);
    if (source !== undefined) return { file, source, dialect, reader: dialect.documents };
  }
  return undefined;
}

/** Those that refer to others come after them, wherever they stand; documents and problems keep their order. */
function readPieces(pieces: readonly (Piece | Problem)[], request: ReadRequest): ReadDocuments {
  // What refers to something is read against checked objects only: a wrong template says for itself what is wrong with it.
  const isReferring = ({ reader, source }: Piece): boolean => (reader?.references(source) ?? []).length > 0;
  const known = new Map(
    pieces.flatMap((piece) =>
      "source" in piece && !isReferring(piece) ? [[piece, readOne(piece, request, [])] as const] : [],
    ),
  );
  const beside = [...known.values()].flatMap(({ document }) => document.object ?? []);
  const reads = pieces.map((piece) =>
    "source" in piece ? (known.get(piece) ?? readOne(piece, request, beside)) : { problem: piece },
  );
  const documents = reads.flatMap((read) => ("document" in read ? [read.document] : []));
  const together = problemsTogether(documents, request.lint === true ? "lintTogether" : "readTogether");
  const foreign = request.lint === true ? foreignKinds(documents) : new Map<Document, readonly Problem[]>();
  const found = (document: Document) => [...(together.get(document) ?? []), ...(foreign.get(document) ?? [])];
  const problems = reads.flatMap((read) =>
    "document" in read ? [...read.found, ...found(read.document)].toSorted(byPlace) : [read.problem],
  );
  return { documents, problems };
}

/** What only shows among several documents of a dialect, by document. Those with errors show nothing. */
function problemsTogether(
  documents: readonly Document[],
  judge: "readTogether" | "lintTogether",
): ReadonlyMap<Document, readonly Problem[]> {
  const found = new Map<Document, readonly Problem[]>();
  for (const reader of new Set(documents.flatMap((document) => document.reader ?? []))) {
    const checked = documents.flatMap((document) =>
      document.reader !== reader || document.object === undefined ? [] : [{ document, object: document.object }],
    );
    const lists = reader[judge](checked.map(({ document: { source }, object }) => ({ source, object })));
    for (const [index, { document }] of checked.entries()) found.set(document, lists[index] ?? []);
  }
  return found;
}

/** Of one file. What has no place comes last. */
const byPlace = ({ position: a }: Problem, { position: b }: Problem): number =>
  (a?.line ?? Number.MAX_SAFE_INTEGER) - (b?.line ?? Number.MAX_SAFE_INTEGER) || (a?.column ?? 0) - (b?.column ?? 0);

const emptyFile = (file: string): Problem => ({
  severity: "error",
  code: "unknown-document",
  path: "",
  message: "the file holds no document",
  position: { file, line: 1, column: 1 },
});

interface ReadOne {
  readonly document: Document;
  readonly found: readonly Problem[];
}

function readOne(
  { file, source, dialect, reader }: Piece,
  request: ReadRequest,
  beside: readonly KubeObject[],
): ReadOne {
  if (reader === undefined) return readPlain(file, source);
  const given = request.arguments === undefined ? {} : { arguments: request.arguments };
  const { object, problems } = reader.read(source, { ...given, beside });
  const found = request.lint === true ? reader.lint(source, { beside }) : problems;
  return { document: { file, source, dialect, reader, object }, found };
}

/** A Kubernetes object of a kind that no dialect claims: the server will judge it, but a kind that nobody has is told now. */
function readPlain(file: string, source: SourceDocument): ReadOne {
  const { value } = source;
  const plain = { file, source, dialect: undefined, reader: undefined };
  if (!isKubeObject(value)) {
    const message = "this is no document of a known dialect and no Kubernetes object: expected apiVersion and kind";
    const problem = { severity: "error", code: "unknown-document", path: "", message } as const;
    const found = [{ ...problem, position: source.positionOf([]) }];
    return { document: { ...plain, object: undefined }, found };
  }
  const { apiVersion, kind } = value;
  const document = { ...plain, object: value };
  const unknown = unknownKind(apiVersion, kind);
  if (unknown === undefined) return { document, found: [] };
  const message = `there is no ${kind} in ${apiVersion}`;
  const problem: Problem = {
    severity: "warning",
    code: "unknown-kind",
    path: "kind",
    message,
    position: source.positionOf(["kind"]),
  };
  return { document, found: [unknown.hint === undefined ? problem : { ...problem, hint: unknown.hint }] };
}

/** apiVersion and kind were looked at; the rest is the server's to check. */
const isKubeObject = (value: unknown): value is KubeObject =>
  typeof value === "object" &&
  value !== null &&
  "apiVersion" in value &&
  typeof value.apiVersion === "string" &&
  "kind" in value &&
  typeof value.kind === "string";

/** The documents' objects; none when one of the problems is an error, because then nothing may be done with any of them. */
export const objectsOf = ({
  documents,
  problems,
}: ReadDocuments): readonly { document: Document; object: KubeObject }[] =>
  hasErrors(problems)
    ? []
    : documents.flatMap((document) => (document.object === undefined ? [] : [{ document, object: document.object }]));
