import { type Dialect, type DocumentReader, type SourceDocument, unknownKind } from "#kernel/dialect/index.ts";
import { hasErrors, isJsonObject, type Problem, textAt } from "#lib/base/index.ts";
import { asJson, type KubeObject, splitApiVersion } from "#kernel/model/index.ts";
import type { SourcePlace, SourceText } from "#kernel/command/index.node.ts";
import { isRunOf } from "./run.ts";

/**
 * One document of the command line. `dialect` is absent for plain Kubernetes objects and for kinds that all dialects
 * share.
 */
export interface Document {
  readonly file: string;
  readonly source: SourceDocument;
  readonly dialect: Dialect | undefined;
  /** Absent for plain Kubernetes objects. */
  readonly reader: DocumentReader | undefined;
  /** Absent when the problems hold an error. */
  readonly object: KubeObject | undefined;
}

/** All documents in order, including those with errors. */
export interface ReadDocuments {
  readonly documents: readonly Document[];
  readonly problems: readonly Problem[];
}

export interface ReadRequest extends SourcePlace, TextRequest {}

export interface TextRequest {
  readonly arguments?: Readonly<Record<string, string>>;
  /** Also report what is allowed but unwise. */
  readonly lint?: boolean;
}

/**
 * Reads files, folders and `-`; reports the problems of all files in the order of the command line. Throws only for
 * words that name no documents, see `readSources`.
 */
export async function readDocuments(paths: readonly string[], request: ReadRequest): Promise<ReadDocuments> {
  const { readSources } = await import("#kernel/command/index.node.ts");
  return await readTexts(await readSources(paths, request), request);
}

/** As `readDocuments`, for texts that were read already. */
export async function readTexts(sources: readonly SourceText[], request: TextRequest): Promise<ReadDocuments> {
  const [{ loadDialects }, { sharedOf }] = await Promise.all([
    import("#dialects/index.ts"),
    import("#kernel/dialect/index.ts"),
  ]);
  const { readYaml } = await import("#lib/yaml/index.ts");
  const dialects = await loadDialects();
  const { documents: shared } = sharedOf(dialects);
  const pieces: (Piece | Problem)[] = [];
  for (const source of sources) {
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

/** A document before it is read. */
type Piece = Omit<Document, "object">;

/** Shared kinds come first: their group is that of a dialect, whose reader does not know them. */
function pieceOf(file: string, source: SourceDocument, dialects: readonly Dialect[], shared: DocumentReader): Piece {
  if (shared.detect(source)) return { file, source, dialect: undefined, reader: shared };
  const dialect = dialects.find(({ documents }) => documents.detect(source));
  return { file, source, dialect, reader: dialect?.documents };
}

/** A file in a dialect's own format, which is not YAML with objects. */
function wholeFile(dialects: readonly Dialect[], text: string, file: string): Piece | undefined {
  for (const dialect of dialects) {
    const source = dialect.documents.fromText?.(text, file);
    if (source !== undefined) return { file, source, dialect, reader: dialect.documents };
  }
  return undefined;
}

/** Reads documents that refer to others after those, and keeps the order of documents and problems. */
function readPieces(pieces: readonly (Piece | Problem)[], request: TextRequest): ReadDocuments {
  // References are read against valid objects only: an invalid template reports its own problems.
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

/** Problems that involve several valid documents of a dialect. */
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

/** Problems without a position come last. */
const byPlace = ({ position: a }: Problem, { position: b }: Problem): number =>
  (a?.line ?? Number.MAX_SAFE_INTEGER) - (b?.line ?? Number.MAX_SAFE_INTEGER) || (a?.column ?? 0) - (b?.column ?? 0);

const emptyFile = (file: string): Problem => ({
  severity: "error",
  code: "unknown-document",
  path: "",
  message: "the file contains no document",
  position: { file, line: 1, column: 1 },
});

interface ReadOne {
  readonly document: Document;
  readonly found: readonly Problem[];
}

function readOne(
  { file, source, dialect, reader }: Piece,
  request: TextRequest,
  beside: readonly KubeObject[],
): ReadOne {
  if (reader === undefined) return readPlain(file, source);
  const given = request.arguments === undefined ? {} : { arguments: request.arguments };
  const { object, problems } = reader.read(source, { ...given, beside });
  const found = request.lint === true ? reader.lint(source, { beside }) : problems;
  return { document: { file, source, dialect, reader, object }, found };
}

/** A Kubernetes object of a kind that no dialect has: the server validates it, but an unknown kind is reported now. */
function readPlain(file: string, source: SourceDocument): ReadOne {
  const { value } = source;
  const plain = { file, source, dialect: undefined, reader: undefined };
  if (!isKubeObject(value)) {
    const message = "neither a document of a known dialect nor a Kubernetes object: expected apiVersion and kind";
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

/** Checks apiVersion and kind; the server checks the rest. */
const isKubeObject = (value: unknown): value is KubeObject =>
  isJsonObject(value) && typeof value["apiVersion"] === "string" && typeof value["kind"] === "string";

/** The objects of the documents; none if there is any error. */
export const objectsOf = ({
  documents,
  problems,
}: ReadDocuments): readonly { document: Document; object: KubeObject }[] =>
  hasErrors(problems)
    ? []
    : documents.flatMap((document) => (document.object === undefined ? [] : [{ document, object: document.object }]));

/** The runs among the documents without errors, in order. */
export const runsIn = ({ documents }: Pick<ReadDocuments, "documents">) =>
  documents.flatMap((document) => {
    const { dialect, object } = document;
    return dialect !== undefined && object !== undefined && isRunOf(dialect, object)
      ? [{ document, dialect, object }]
      : [];
  });

/**
 * Warnings for objects that were not checked: no dialect, no group of Kubernetes and no definition among the documents
 * has their kind.
 */
function foreignKinds(documents: readonly Document[]): ReadonlyMap<Document, readonly Problem[]> {
  const defined = new Set(documents.flatMap(definedBy));
  const found = new Map<Document, readonly Problem[]>();
  for (const document of documents) {
    const { object, reader, source } = document;
    if (object === undefined || reader !== undefined) continue;
    const { apiVersion, kind } = object;
    const { group } = splitApiVersion(apiVersion);
    if (isOfKubernetes(group) || defined.has(keyOf(group, kind))) continue;
    const position = source.positionOf(["kind"]);
    const message = `unknown kind ${kind} in ${apiVersion}: it was not checked`;
    const hint = "a server accepts it only with its CustomResourceDefinition, which can be among the documents";
    found.set(document, [{ severity: "warning", code: "unknown-kind", path: "kind", message, position, hint }]);
  }
  return found;
}

/** Kubernetes' groups have no dot or this suffix; their kinds differ between servers. */
const isOfKubernetes = (group: string): boolean => !group.includes(".") || group.endsWith(".k8s.io");

const keyOf = (group: string, kind: string): string => `${kind}.${group}`;

function definedBy({ object }: Document): readonly string[] {
  if (object?.kind !== "CustomResourceDefinition") return [];
  const group = textAt(asJson(object), "spec", "group");
  const kind = textAt(asJson(object), "spec", "names", "kind");
  return group === undefined || kind === undefined ? [] : [keyOf(group, kind)];
}
