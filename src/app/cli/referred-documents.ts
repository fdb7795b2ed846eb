import type { References } from "#kernel/dialect/index.ts";
import { formatProblem, type Problem } from "#lib/base/index.ts";
import { type ApiClient, getOrUndefined } from "#kernel/kit/index.ts";
import type { KubeObject } from "#kernel/model/index.ts";
import { type Document, objectsOf, type ReadDocuments } from "#app/runs/index.ts";
import type { Session } from "#kernel/command/index.ts";

/**
 * Reads the documents again with the objects that they refer to and only the server has, such as templates that declare
 * the types of arguments. A missing object may be created later, unless arguments need it. Returns only new problems.
 * One request for each reference.
 */
export async function withReferred(
  read: ReadDocuments,
  given: Readonly<Record<string, string>>,
  session: Pick<Session, "client" | "namespace">,
): Promise<ReadDocuments> {
  const locals = objectsOf(read).map(({ object }) => object);
  const problems: Problem[] = [];
  const documents: Document[] = [];
  for (const document of read.documents) {
    const { reader, source } = document;
    const open = (reader?.references(source) ?? []).filter(({ ref }) => !locals.some(isNamedBy(ref)));
    const found = await fetchReferred(open, session);
    const beside = found.filter((object) => object !== undefined);
    if (Object.keys(given).length > 0)
      problems.push(...open.flatMap((one, index) => (found[index] === undefined ? [nowhere(one, document)] : [])));
    if (reader === undefined || beside.length === 0) {
      documents.push(document);
      continue;
    }
    const again = reader.read(source, { arguments: given, beside });
    problems.push(...again.problems.filter((problem) => !read.problems.some(isSameAs(problem))));
    documents.push({ ...document, object: again.object });
  }
  return { documents, problems };
}

type Reference = References[number];

/** One object for each reference; undefined for missing ones. */
export const fetchReferred = (
  references: References,
  session: Pick<Session, "client" | "namespace">,
): Promise<readonly (KubeObject | undefined)[]> => Promise.all(references.map(({ ref }) => fetched(session, ref)));

/** Earlier problems have been printed. */
const isSameAs = (problem: Problem) => (other: Problem) => formatProblem(other) === formatProblem(problem);

/** Compares namespaces as written: a document without one has none yet. */
const isNamedBy =
  ({ apiVersion, kind, name, namespace }: Reference["ref"]) =>
  (object: KubeObject): boolean =>
    object.apiVersion === apiVersion &&
    object.kind === kind &&
    object.metadata.name === name &&
    object.metadata.namespace === namespace;

/** A reference without a namespace means the caller's, and its object is read without one. */
async function fetched(
  { client, namespace }: { readonly client: ApiClient; readonly namespace: string },
  ref: Reference["ref"],
): Promise<KubeObject | undefined> {
  const type = await client.resourceType(ref.apiVersion, ref.kind);
  if (type === undefined) return undefined;
  const found = await getOrUndefined(client, { type, namespace: ref.namespace ?? namespace, name: ref.name });
  if (found === undefined || ref.namespace !== undefined) return found;
  const { namespace: _callers, ...metadata } = found.metadata;
  return { ...found, metadata };
}

/** Without arguments, the run may wait for its template; with them, their types are unknown. */
function nowhere({ ref, path }: Reference, { source }: Document): Problem {
  const message = `there is no ${ref.kind} ${JSON.stringify(ref.name)} among the documents or on the server: arguments cannot be read without it`;
  return { severity: "error", code: "invalid-value", path: path.join("."), message, position: source.positionOf(path) };
}
